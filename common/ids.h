// Identifiers and secrets.
#ifndef DDP_COMMON_IDS_H_
#define DDP_COMMON_IDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace ddp {

// A job id: 12 characters of Crockford base32 in lower case, the first 8 of them the time in units of 64 ms, the rest
// from `random` (20 bits). Later ids sort later (ids of the same 64 ms in any order).
std::string MakeJobId(absl::Time now, uint64_t random);
// True for 1 to 12 characters of the job-id alphabet: an id or a prefix of one. Anything else never reaches a path.
bool IsJobIdPrefix(std::string_view text);

// 64 bits from the kernel.
uint64_t RandomBits();
// 256 bits from the kernel, as 64 hexadecimal digits.
std::string MakeSecret();
// Compares in time that depends only on the lengths.
bool SecretsEqual(std::string_view a, std::string_view b);

}  // namespace ddp

#endif  // DDP_COMMON_IDS_H_
