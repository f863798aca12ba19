// Between protobuf timestamps, microseconds and slot lists as the store keeps them.
#ifndef DDP_SERVER_STORE_CONVERT_H_
#define DDP_SERVER_STORE_CONVERT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"

namespace ddp {

google::protobuf::Timestamp ToTimestamp(absl::Time time);
absl::Time FromTimestamp(const google::protobuf::Timestamp& timestamp);
int64_t ToMicros(const google::protobuf::Timestamp& timestamp);
google::protobuf::Timestamp FromMicros(int64_t micros);

// "0,1,5"
std::string JoinSlots(const std::vector<int>& slots);
std::vector<int> SplitSlots(const std::string& text);

}  // namespace ddp

#endif  // DDP_SERVER_STORE_CONVERT_H_
