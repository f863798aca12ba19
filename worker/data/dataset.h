// Data sets in memory, ready for batches: read strictly, split, labelled, tokenized. The same spec on the same files
// gives the same bits in every process.
#ifndef DDP_WORKER_DATA_DATASET_H_
#define DDP_WORKER_DATA_DATASET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/array.h"
#include "worker/data/spec.h"
#include "worker/data/tokenizer.h"

namespace ddp {

// Windows of a file of tokens that may be larger than memory. Thread-safe.
class TokenWindows {
 public:
  virtual ~TokenWindows() = default;
  // Windows of this split, from 0.
  virtual int64_t size() const = 0;
  virtual int64_t window_tokens() const = 0;
  // Window `index`: out.size() == window_tokens() + 1 tokens; the last one is the first of the next window, there only
  // to be predicted. InvalidArgument names the file, the offset in bytes and the value of a token outside the
  // vocabulary.
  virtual absl::Status Read(int64_t index, std::span<int32_t> out) const = 0;
};

// Samples of one split. Either tokens, windows, features or pixels are set; classes or numbers when the spec wants
// labels.
struct Split {
  Array<int32_t> tokens;         // sample i is tokens[token_offsets[i], token_offsets[i + 1]), never empty
  Array<int64_t> token_offsets;  // n + 1, or empty: not text
  int64_t feature_dim = 0;
  std::vector<float> features;  // [n, feature_dim], row-major
  std::vector<uint8_t> pixels;  // [n, feature_dim]; the value is (pixel / 255 - pixel_mean) / pixel_std
  float pixel_mean = 0;         // of all pixels of the training side (before `limit`), as parts of 1; in both splits
  float pixel_std = 1;          // 1 when all pixels are equal
  Array<int64_t> classes;       // indices into Dataset::class_names
  Array<double> numbers;
  Array<uint64_t> sample_hash;  // XXH3-64 of each sample's content: what the split was decided by; not of windows
  std::shared_ptr<const TokenWindows> windows;

  bool has_text() const { return windows || !token_offsets.empty(); }
  int64_t size() const { return windows ? windows->size() : static_cast<int64_t>(sample_hash.size()); }
};

// Of features that are images, in this order.
struct ImageShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  bool is_image() const { return channels > 0; }
};

struct Dataset {
  Split train;  // never empty
  Split valid;  // empty: no validation
  std::vector<std::string> class_names;
  ImageShape image;     // not set: the features are no images
  Tokenizer tokenizer;  // of text data
  // 32 hexadecimal digits: XXH3-128 over samples, labels and their order in both splits; of files of tokens, over parts
  // of the files (TokenFile::Fingerprint) and how they are divided.
  std::string fingerprint;
};

// Reads all of it. `tokenizer` (may be null) and `class_names` (may be empty) come from a checkpoint and are then used
// as they are; otherwise they are made from the training split. `should_stop` is asked now and then.
//
// Held out for validation are samples whose hash of content (text, or features) is below valid_fraction of the range of
// hashes, so a sample is on the same side in every subset and run; `limit` then keeps the first N training samples, in
// file order. The WordNet files are sorted by class, so that set has an order of its own: by another hash of the text.
// Files of tokens are not read here: Split::windows reads them, and DivideWindows says what is held out.
//
// cache_folder: where tokenized text is kept and taken from (token_cache.h); empty: nowhere.
//
// InvalidArgument or NotFound "FIELD: FILE:LINE: what is wrong": FIELD is the path in the spec, as in
// "training.data.label_column". Cancelled when should_stop said so.
absl::StatusOr<Dataset> LoadDataset(const DataSpec& spec, const Tokenizer* tokenizer,
                                    const std::vector<std::string>& class_names,
                                    const std::function<bool()>& should_stop, const std::string& cache_folder = "");

// Whether a checkpoint's tokenizer can be used on this data: text needs one that reads text, token files one of ids.
// InvalidArgument "training.init_from: ...".
absl::Status CheckTokenizerOf(const Tokenizer& tokenizer, const std::string& source);

// One thing that is wrong with a spec, or with what it points to.
struct DataProblem {
  std::string field;  // "training.data.source"
  std::string text;
};

// A label of a sample that will be used.
struct SeenLabel {
  std::string label;
  std::string field;  // of the file that has it: "training.data.source"
};

struct Probe {
  std::vector<DataProblem> problems;  // empty: nothing found; the other fields are then set
  // Samples counted, and those that stay for training after the split and `limit`. Lower bounds when !complete.
  int64_t rows = 0;
  int64_t train_rows = 0;
  bool complete = false;  // the whole training data was read
  bool has_text = false;
  int64_t vocabulary = 0;   // of text whose tokenizer the spec gives; 0: words, known only when all is read
  int64_t feature_dim = 0;  // without text
  ImageShape image;
  std::vector<std::string> class_names;  // of sets with fixed classes; empty: known only when all is read
  std::vector<SeenLabel> labels;  // of classes, in the order in which LoadDataset meets them; only of what was read
};

// The label "a" is none of the 10 classes that the model knows.
std::string UnknownClassText(const std::string& label, size_t classes);

// A quick look, for the moment of submit: does the source exist, are the columns there, do the first rows parse? Reads
// on until max(1000, need_rows) training rows are found, and at most 32 MiB of a file.
Probe ProbeDataset(const DataSpec& spec, int64_t need_rows);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_DATASET_H_
