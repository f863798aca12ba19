#include "worker/dist/shm_channel.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "common/files.h"
#include "common/shm_layout.h"

namespace ddp {

namespace {

// A peer that computes is microseconds away in small models: a short spin saves two system calls. Longer spins would
// steal the core from it when ranks outnumber cores.
constexpr int kSpins = 2000;
constexpr timespec kFutexSlice{0, 100'000'000};

void Futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), operation, value, timeout, nullptr, 0);
}

// a[i] = sum of the blocks in rank order.
template <typename T>
void SumBlocks(T* out, const T* const* blocks, int ranks, size_t count) {
  if (ranks == 2) {
    const T* a = blocks[0];
    const T* b = blocks[1];
    for (size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
    return;
  }
  std::memcpy(out, blocks[0], count * sizeof(T));
  for (int r = 1; r < ranks; ++r) {
    const T* b = blocks[r];
    for (size_t i = 0; i < count; ++i) out[i] += b[i];
  }
}

constexpr int kMaxRanks = 1024;

}  // namespace

struct ShmChannel::Header {
  alignas(64) std::atomic<uint32_t> round;
  // How many peers sleep on `round`: nobody is woken by a system call when nobody sleeps.
  alignas(64) std::atomic<uint32_t> sleepers;
};

absl::StatusOr<ShmChannel> ShmChannel::Map(int fd, int rank, int world_size, std::chrono::milliseconds timeout) {
  if (world_size < 1 || world_size > kMaxRanks || rank < 0 || rank >= world_size) {
    return absl::InvalidArgumentError("shared-memory group: rank " + std::to_string(rank) + " of world_size " +
                                      std::to_string(world_size) + " is impossible");
  }
  void* memory = mmap(nullptr, ShmBytes(world_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "cannot map the shared memory of the group");
  return ShmChannel(memory, rank, world_size, timeout);
}

ShmChannel::ShmChannel(void* memory, int rank, int world_size, std::chrono::milliseconds timeout)
    : memory_(memory), rank_(rank), world_size_(world_size), timeout_(timeout) {}

ShmChannel::ShmChannel(ShmChannel&& other) noexcept
    : memory_(other.memory_),
      rank_(other.rank_),
      world_size_(other.world_size_),
      timeout_(other.timeout_),
      round_(other.round_) {
  other.memory_ = nullptr;
}

ShmChannel::~ShmChannel() {
  if (memory_ != nullptr) munmap(memory_, ShmBytes(world_size_));
}

ShmChannel::Header& ShmChannel::header(int rank) const {
  return *reinterpret_cast<Header*>(static_cast<std::byte*>(memory_) + rank * kShmHeaderBytes);
}

std::byte* ShmChannel::buffer(int rank, uint32_t round) const {
  return static_cast<std::byte*>(memory_) + world_size_ * kShmHeaderBytes +
         (static_cast<size_t>(rank) * 2 + (round & 1)) * kShmBufferBytes;
}

void ShmChannel::Meet() {
  const uint32_t target = ++round_;
  Header& mine = header(rank_);
  // Sequentially consistent on both sides, so that either we see the sleeper or it sees our number.
  mine.round.store(target, std::memory_order_seq_cst);
  if (mine.sleepers.load(std::memory_order_seq_cst) != 0) Futex(&mine.round, FUTEX_WAKE, INT_MAX, nullptr);

  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  for (int r = 0; r < world_size_; ++r) {
    if (r == rank_) continue;
    Header& peer = header(r);
    auto behind = [&](uint32_t seen) { return static_cast<int32_t>(seen - target) < 0; };
    int spins = 0;
    while (true) {
      uint32_t seen = peer.round.load(std::memory_order_acquire);
      if (!behind(seen)) break;
      if (spins++ < kSpins) {
        _mm_pause();
        continue;
      }
      if (std::chrono::steady_clock::now() > deadline) {
        throw PeerLostError("rank " + std::to_string(r) + " did not reach the collective within " +
                            std::to_string(timeout_.count() / 1000) + " s");
      }
      peer.sleepers.fetch_add(1, std::memory_order_seq_cst);
      seen = peer.round.load(std::memory_order_seq_cst);
      if (behind(seen)) Futex(&peer.round, FUTEX_WAIT, seen, &kFutexSlice);
      peer.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    }
  }
}

template <typename T>
void ShmChannel::AllReduceSum(T* data, size_t count) {
  constexpr size_t kChunk = kShmBufferBytes / sizeof(T);
  const T* blocks[kMaxRanks];
  for (size_t begin = 0; begin < count; begin += kChunk) {
    const size_t n = std::min(kChunk, count - begin);
    const uint32_t round = round_ + 1;
    std::memcpy(buffer(rank_, round), data + begin, n * sizeof(T));
    Meet();
    for (int r = 0; r < world_size_; ++r) blocks[r] = reinterpret_cast<const T*>(buffer(r, round));
    SumBlocks(data + begin, blocks, world_size_, n);
  }
}

template void ShmChannel::AllReduceSum<float>(float*, size_t);
template void ShmChannel::AllReduceSum<double>(double*, size_t);
template void ShmChannel::AllReduceSum<int64_t>(int64_t*, size_t);

void ShmChannel::Broadcast(void* data, size_t bytes, int root) {
  auto* p = static_cast<std::byte*>(data);
  for (size_t begin = 0; begin < bytes; begin += kShmBufferBytes) {
    const size_t n = std::min(kShmBufferBytes, bytes - begin);
    const uint32_t round = round_ + 1;
    if (rank_ == root) std::memcpy(buffer(root, round), p + begin, n);
    Meet();
    if (rank_ != root) std::memcpy(p + begin, buffer(root, round), n);
  }
}

void ShmChannel::AllGather(const void* data, size_t bytes, void* out) {
  const auto* p = static_cast<const std::byte*>(data);
  auto* q = static_cast<std::byte*>(out);
  for (size_t begin = 0; begin < bytes; begin += kShmBufferBytes) {
    const size_t n = std::min(kShmBufferBytes, bytes - begin);
    const uint32_t round = round_ + 1;
    std::memcpy(buffer(rank_, round), p + begin, n);
    Meet();
    for (int r = 0; r < world_size_; ++r) std::memcpy(q + r * bytes + begin, buffer(r, round), n);
  }
}

void ShmChannel::Barrier() { Meet(); }

}  // namespace ddp
