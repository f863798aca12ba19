// Where a job's first weights come from: training.init_from.
#ifndef DDP_SPEC_INIT_FROM_H_
#define DDP_SPEC_INIT_FROM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "ddp/v1/spec.pb.h"

namespace ddp {

// What init_from names.
struct InitFrom {
  enum class Kind { kNone, kPath, kJob };
  Kind kind = Kind::kNone;
  std::string path;      // kPath
  std::string job;       // kJob: an id or a prefix of one
  int64_t step = kLast;  // kJob
  static constexpr int64_t kLast = -1;
  static constexpr int64_t kBest = -2;
};
// InvalidArgument for text that is neither JOB, JOB@last, JOB@best, JOB@STEP nor an absolute path.
absl::StatusOr<InitFrom> ParseInitFrom(const std::string& text);

// "last", "best" or a step, as InitFrom::step has it. Unset: none of these.
std::optional<int64_t> ParseCheckpointChoice(const std::string& text);

// Whether the folder init_path, a checkpoint, has to be asked what it was made with before the defaults of `child` are
// filled in. A file with weights alone tells nothing.
bool NeedsDescription(const v1::Training& child, const std::string& init_path);

// A child that does not say otherwise has its parent's model, and texts as long as its parent's. A vocab_size that is
// the parent's is left open: the vocabulary comes from the checkpoint.
void TakeFromParent(const v1::Training& parent, v1::Training& child);

}  // namespace ddp

#endif  // DDP_SPEC_INIT_FROM_H_
