// What data a job asks for: a plain mirror of ddp.v1.Data, where the meaning of each field is written.
#ifndef DDP_WORKER_DATA_SPEC_H_
#define DDP_WORKER_DATA_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ddp {

enum class LabelKind { kNone, kClass, kNumber };

struct DataSpec {
  std::string source = "wordnet";
  std::string valid;
  double valid_fraction = 0.1;
  std::string text_column;
  std::vector<std::string> feature_columns;
  std::string label_column;
  int64_t limit = 0;  // 0: all
  std::string tokenizer = "words";
  int vocab_size = 16384;
  int max_tokens = 32;
  std::string labels;
  std::string valid_labels;
  std::string image_shape;
  std::string token_type;
  LabelKind label_kind = LabelKind::kNone;
};

}  // namespace ddp

#endif  // DDP_WORKER_DATA_SPEC_H_
