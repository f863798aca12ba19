// XXH3-128: the checksum of checkpoints and the fingerprint of data.
#ifndef DDP_WORKER_FORMATS_XXH3_H_
#define DDP_WORKER_FORMATS_XXH3_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ddp {

// Counts and hashes what passes.
class Xxh3 {
 public:
  Xxh3();
  ~Xxh3();
  void Update(std::string_view bytes);
  uint64_t size() const { return size_; }
  // 32 hexadecimal digits.
  std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  uint64_t size_ = 0;
};

std::string Xxh3Hex(std::string_view bytes);
// Of a whole file, from its first byte, wherever the descriptor stands.
absl::StatusOr<std::string> Xxh3Hex(int fd);

}  // namespace ddp

#endif  // DDP_WORKER_FORMATS_XXH3_H_
