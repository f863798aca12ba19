// Points of TensorBoard's events.
#ifndef DDP_CLIENT_EXCHANGE_EVENT_READER_H_
#define DDP_CLIENT_EXCHANGE_EVENT_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "ddp/v1/metric.pb.h"

namespace ddp {

struct EventPoint {
  std::string series;
  int64_t step = 0;
  double time = 0;
  std::variant<double, v1::Histogram, std::string> value;
};

// A record may tell of a tag what an earlier one has said of it (its plugin): one decoder reads a run from its
// beginning. Not thread-safe.
class EventDecoder {
 public:
  // What is neither a scalar, a histogram nor a text is counted and left out; so are names that are not UTF-8 and
  // steps below 0. InvalidArgument: the record is no event. ResourceExhausted: more than kMostTags names.
  absl::Status Decode(const std::string& record, std::vector<EventPoint>& points);
  // The step from which on the run has begun anew with this record.
  std::optional<int64_t> restart() const { return restart_; }
  // How many values were left out, by reason.
  const std::map<std::string, int64_t>& left_out() const { return left_out_; }

  static constexpr size_t kMostTags = 100000;

 private:
  std::map<std::string, std::string> plugins_;  // by tag
  std::optional<int64_t> restart_;
  std::map<std::string, int64_t> left_out_;
};

}  // namespace ddp

#endif  // DDP_CLIENT_EXCHANGE_EVENT_READER_H_
