#include "worker/train/sampler.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randperm.h>

#include "absl/strings/str_cat.h"

namespace ddp {

std::vector<int32_t> EpochOrder(int64_t n, uint64_t seed, int64_t epoch) {
  const at::Generator generator = at::detail::createCPUGenerator(seed + static_cast<uint64_t>(epoch));
  // The same numbers as randperm's in 64 bits, in half the memory.
  std::vector<int32_t> order(static_cast<size_t>(n));
  at::Tensor view = at::from_blob(order.data(), {n}, at::kInt);
  at::randperm_out(view, n, generator);
  return order;
}

std::vector<int64_t> RankShare(const std::vector<int32_t>& order, int64_t begin, int64_t end, int rank,
                               int world_size) {
  std::vector<int64_t> share;
  share.reserve(static_cast<size_t>((end - begin) / world_size + 1));
  for (int64_t i = begin + rank; i < end; i += world_size) share.push_back(order[static_cast<size_t>(i)]);
  return share;
}

int64_t ShareSize(int64_t samples, int rank, int world_size) { return (samples + world_size - 1 - rank) / world_size; }

int64_t StepsPerEpoch(int64_t n, int64_t batch_size) { return (n + batch_size - 1) / batch_size; }

std::string DescribeShares(int64_t batch_size, int world_size) {
  std::string text;
  for (int r = 0; r < world_size; ++r) {
    absl::StrAppend(&text, r == 0 ? "" : "+", ShareSize(batch_size, r, world_size));
  }
  return text;
}

}  // namespace ddp
