// Collectives of the ranks of one node over shared memory. No torch here.
//
// Memory: for each rank a header page, then two buffers (common/shm_layout.h). One round = each rank copies its chunk
// into its buffer of the round's parity, raises its sequence number, waits until all numbers have reached it, and reads
// the others' buffers. Two buffers make one wait a round enough: a rank fills a buffer again two rounds later, and it
// gets there only after everybody has raised the number of the round between, which they do after reading.
#ifndef DDP_WORKER_DIST_SHM_CHANNEL_H_
#define DDP_WORKER_DIST_SHM_CHANNEL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "absl/status/statusor.h"

namespace ddp {

// Another rank did not come: it died, hangs, or took another path through the program.
struct PeerLostError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Not thread-safe: one thread per rank makes all calls, and all ranks make the same calls in the same order with the
// same sizes. Sums are formed in rank order, so every rank gets the same bits, and the same bits in every run.
class ShmChannel {
 public:
  // Maps the memory behind `fd` (ShmBytes(world_size) bytes, zeroed at first); the descriptor may be closed afterwards.
  static absl::StatusOr<ShmChannel> Map(int fd, int rank, int world_size, std::chrono::milliseconds timeout);
  ShmChannel(ShmChannel&& other) noexcept;
  ShmChannel& operator=(ShmChannel&&) = delete;
  ~ShmChannel();

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }

  // data[i] = sum over ranks of data[i], in place. T: float, double, int64_t. Throws PeerLostError after the time-out.
  template <typename T>
  void AllReduceSum(T* data, size_t count);
  // bytes of every rank = bytes of rank `root`.
  void Broadcast(void* data, size_t bytes, int root);
  // out holds world_size blocks of `bytes`: block r is what rank r passed.
  void AllGather(const void* data, size_t bytes, void* out);
  void Barrier();

 private:
  struct Header;
  ShmChannel(void* memory, int rank, int world_size, std::chrono::milliseconds timeout);
  Header& header(int rank) const;
  std::byte* buffer(int rank, uint32_t round) const;
  // Raises our number to the next round and waits for everybody's.
  void Meet();

  void* memory_;
  int rank_;
  int world_size_;
  std::chrono::milliseconds timeout_;
  uint32_t round_ = 0;
};

}  // namespace ddp

#endif  // DDP_WORKER_DIST_SHM_CHANNEL_H_
