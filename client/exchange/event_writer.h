// Points as TensorBoard's events. Pure functions: each gives one record of a file.
#ifndef DDP_CLIENT_EXCHANGE_EVENT_WRITER_H_
#define DDP_CLIENT_EXCHANGE_EVENT_WRITER_H_

#include <cstdint>
#include <string>

#include "ddp/v1/metric.pb.h"

namespace ddp {

// The first record of a file.
std::string VersionRecord(double time);
// As a float, which every reader of event files knows; with `exact` as a tensor of doubles, which TensorBoard and
// readers of its newer summaries know.
std::string ScalarRecord(const std::string& series, int64_t step, double time, double value, bool exact);
std::string HistogramRecord(const v1::Histogram& histogram);
std::string TextRecord(const v1::Text& text);
// From here on, steps from `step` on supersede those that were written before.
std::string RestartRecord(int64_t step, double time);

// "events.out.tfevents.1796256000.HOST.PID.N"
std::string EventFileName(int64_t unix_seconds, const std::string& host, int64_t pid, int number);

}  // namespace ddp

#endif  // DDP_CLIENT_EXCHANGE_EVENT_WRITER_H_
