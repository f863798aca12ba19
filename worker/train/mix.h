// A hash of integers for randomness that is a pure function of where we are (seed, epoch, step, rank, sample).
#ifndef DDP_WORKER_TRAIN_MIX_H_
#define DDP_WORKER_TRAIN_MIX_H_

#include <cstdint>

namespace ddp {

// The finalizer of SplitMix64: every input bit reaches every output bit.
constexpr uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr uint64_t Mix(uint64_t a, uint64_t b) { return Mix(Mix(a) ^ b); }
constexpr uint64_t Mix(uint64_t a, uint64_t b, uint64_t c) { return Mix(Mix(a, b) ^ c); }
constexpr uint64_t Mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d) { return Mix(Mix(a, b, c) ^ d); }

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_MIX_H_
