#include "server/store/convert.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace ddp {

google::protobuf::Timestamp ToTimestamp(absl::Time time) { return FromMicros(absl::ToUnixMicros(time)); }

absl::Time FromTimestamp(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
}

int64_t ToMicros(const google::protobuf::Timestamp& timestamp) { return absl::ToUnixMicros(FromTimestamp(timestamp)); }

google::protobuf::Timestamp FromMicros(int64_t micros) {
  const absl::Time time = absl::FromUnixMicros(micros);
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(time));
  timestamp.set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(timestamp.seconds()))));
  return timestamp;
}

std::string JoinSlots(const std::vector<int>& slots) { return absl::StrJoin(slots, ","); }

std::vector<int> SplitSlots(const std::string& text) {
  std::vector<int> slots;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    int slot = 0;
    if (absl::SimpleAtoi(part, &slot)) slots.push_back(slot);
  }
  return slots;
}

}  // namespace ddp
