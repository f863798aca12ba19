// What a source of data yields, before it is split, labelled and tokenized.
#ifndef DDP_WORKER_DATA_RAW_SAMPLES_H_
#define DDP_WORKER_DATA_RAW_SAMPLES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/dataset.h"
#include "worker/data/tokenizer.h"

namespace ddp {

// In file order. Texts, or rows of features or pixels; labels, numbers or neither.
struct RawSamples {
  int64_t size = 0;
  bool has_text = false;
  Texts texts;
  int64_t feature_dim = 0;
  std::vector<float> features;
  std::vector<uint8_t> pixels;
  ImageShape image;
  std::vector<int32_t> labels;  // indices into label_names
  std::vector<std::string> label_names;
  std::vector<double> numbers;
  bool whole = true;  // false: the source has more rows than were asked for
};

struct RawData {
  RawSamples train;
  std::optional<RawSamples> valid;  // the set's own test split, or a second file; unset: hold out of train
  bool fixed_classes = false;       // train.label_names are the classes, whichever of them occur
  bool order_by_hash = false;       // the files are sorted by class: training takes another order (LoadDataset)
};

using StopCheck = std::function<bool()>;
// How many samples are read between two questions to a StopCheck.
inline constexpr int64_t kStopCheckEvery = 4096;
inline absl::Status StoppedError() { return absl::CancelledError("stopped while the data was read"); }

inline constexpr char kSourceField[] = "training.data.source";
inline constexpr char kValidField[] = "training.data.valid";
inline constexpr char kTextField[] = "training.data.text_column";
inline constexpr char kFeaturesField[] = "training.data.feature_columns";
inline constexpr char kLabelField[] = "training.data.label_column";
inline constexpr char kLabelsField[] = "training.data.labels";
inline constexpr char kValidLabelsField[] = "training.data.valid_labels";
inline constexpr char kImageShapeField[] = "training.data.image_shape";
inline constexpr char kTokenTypeField[] = "training.data.token_type";
inline constexpr char kInitFromField[] = "training.init_from";
inline constexpr char kTokenizerField[] = "training.data.tokenizer";
inline constexpr char kMaxTokensField[] = "training.data.max_tokens";

// The tokenizer that the spec gives: bytes, or a SentencePiece model, which is read. Unset: words. FieldError of
// training.data.tokenizer.
absl::StatusOr<std::optional<Tokenizer>> NamedTokenizer(const DataSpec& spec);

// The status "FIELD: TEXT" (InvalidArgument; of another error: with its own code), and back.
absl::Status FieldError(std::string_view field, std::string_view text);
absl::Status FieldError(std::string_view field, const absl::Status& error);
DataProblem ProblemOf(const absl::Status& field_error);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_RAW_SAMPLES_H_
