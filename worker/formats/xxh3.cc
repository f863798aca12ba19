#include "worker/formats/xxh3.h"

#include <unistd.h>

#include <cerrno>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_format.h"
#include "common/files.h"

namespace ddp {

struct Xxh3::State {
  XXH3_state_t xxh;
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Xxh3::~Xxh3() = default;

void Xxh3::Update(std::string_view bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
  size_ += bytes.size();
}

std::string Xxh3::Hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
  return absl::StrFormat("%016x%016x", hash.high64, hash.low64);
}

std::string Xxh3Hex(std::string_view bytes) {
  Xxh3 hash;
  hash.Update(bytes);
  return hash.Hex();
}

absl::StatusOr<std::string> Xxh3Hex(int fd) {
  Xxh3 hash;
  std::string buffer(size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t n = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(hash.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "cannot read");
    if (n == 0) return hash.Hex();
    hash.Update({buffer.data(), static_cast<size_t>(n)});
  }
}

}  // namespace ddp
