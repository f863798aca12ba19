// Which sample is seen when, by whom. Pure functions of (n, seed, epoch, batch, rank, world size).
//
// The order of an epoch is that of Python's torch.utils.data.DistributedSampler: randperm(n) from a generator seeded
// seed + epoch. Global batch k is order[k B .. (k + 1) B), and rank r takes every W-th sample of it from r on: the same
// samples that DistributedSampler gives rank r with a per-rank batch of B / W. Unlike it, nothing is padded or dropped:
// the last batch is smaller, ranks may get one sample fewer than others (10 on 4 ranks: 3+3+2+2) or none, and every
// sample is seen exactly once an epoch on any number of ranks.
#ifndef DDP_WORKER_TRAIN_SAMPLER_H_
#define DDP_WORKER_TRAIN_SAMPLER_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ddp {

// n <= 2^31 - 1; 32-bit numbers, since a file of tokens has many windows.
std::vector<int32_t> EpochOrder(int64_t n, uint64_t seed, int64_t epoch);

// The samples of order[begin, end) that `rank` takes.
std::vector<int64_t> RankShare(const std::vector<int32_t>& order, int64_t begin, int64_t end, int rank, int world_size);
// How many that are of a batch of `samples`.
int64_t ShareSize(int64_t samples, int rank, int world_size);

// Steps that one epoch takes.
int64_t StepsPerEpoch(int64_t n, int64_t batch_size);

// "3+3+2+2": how a full batch is spread over the ranks.
std::string DescribeShares(int64_t batch_size, int world_size);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_SAMPLER_H_
