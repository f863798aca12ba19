#include "worker/train/parameter_check.h"

#include <ATen/Functions.h>

#include <cmath>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "worker/train/errors.h"

namespace ddp {

uint64_t ParameterChecksum(const Model& model) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const auto& [name, tensor] : model.state()) {
    const at::Tensor host = tensor.detach().cpu().contiguous();
    XXH3_64bits_update(&state, host.const_data_ptr(), host.nbytes());
  }
  return XXH3_64bits_digest(&state);
}

uint64_t CheckSameParameters(const Model& model, Group& group, int64_t step) {
  const uint64_t mine = ParameterChecksum(model);
  std::string different;
  const std::vector<uint64_t> all = group.Gather(mine);
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] != all[0]) absl::StrAppend(&different, different.empty() ? "" : ", ", "rank ", r);
  }
  if (!different.empty()) {
    throw NoRetryError(
        absl::StrCat("at step ", step, " the parameters of ", different, " differ from those of rank 0"));
  }
  for (const auto& [name, tensor] : model.state()) {
    // The largest absolute value: NaN and infinities come through, and nothing is written to memory.
    if (tensor.numel() > 0 && !std::isfinite(at::linalg_vector_norm(tensor.detach(), INFINITY).item<float>())) {
      throw NoRetryError(absl::StrCat("at step ", step, " the parameter ", name, " is not finite: not saved"));
    }
  }
  return mine;
}

}  // namespace ddp
