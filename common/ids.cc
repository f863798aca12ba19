#include "common/ids.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/escaping.h"

namespace ddp {
namespace {

constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr size_t kJobIdChars = 12;
constexpr int kTimeBits = 40;
constexpr int kRandomBits = 20;

void FillRandom(char* out, size_t size) {
  while (size > 0) {
    const ssize_t n = getrandom(out, size, 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      std::abort();  // no entropy: any id or secret made now would be guessable
    }
    out += n;
    size -= static_cast<size_t>(n);
  }
}

}  // namespace

std::string MakeJobId(absl::Time now, uint64_t random) {
  const uint64_t units = static_cast<uint64_t>(absl::ToUnixMillis(now)) / 64;
  const uint64_t time_part = units & ((uint64_t{1} << kTimeBits) - 1);
  const uint64_t random_part = random & ((uint64_t{1} << kRandomBits) - 1);
  const uint64_t value = (time_part << kRandomBits) | random_part;
  std::string id(kJobIdChars, '0');
  for (size_t i = 0; i < kJobIdChars; ++i) {
    id[kJobIdChars - 1 - i] = kAlphabet[(value >> (5 * i)) & 31];
  }
  return id;
}

bool IsJobIdPrefix(std::string_view text) {
  return !text.empty() && text.size() <= kJobIdChars && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

uint64_t RandomBits() {
  uint64_t bits = 0;
  FillRandom(reinterpret_cast<char*>(&bits), sizeof(bits));
  return bits;
}

std::string MakeSecret() {
  std::array<char, 32> bytes{};
  FillRandom(bytes.data(), bytes.size());
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

bool SecretsEqual(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference =
        static_cast<unsigned char>(difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  }
  return difference == 0;
}

}  // namespace ddp
