// Points as CSV and as JSON lines. Pure functions. Doubles have as many digits as it takes to read the same double
// again; what is not finite is nan, inf or -inf (in JSON a string): Python's float() reads each.
#ifndef DDP_CLIENT_EXCHANGE_ROWS_H_
#define DDP_CLIENT_EXCHANGE_ROWS_H_

#include <string>
#include <string_view>

#include "ddp/v1/metric.pb.h"

namespace ddp {

inline constexpr char kCsvHeader[] = "attempt,series,step,time,value\n";

std::string NumberText(double value);
// In quotes where it must be (RFC 4180).
std::string CsvField(std::string_view text);
// attempt 0: the merged view.
std::string CsvRows(const v1::MetricColumn& column, int attempt);

// {"type":"scalar","attempt":0,"series":"loss","step":1,"time":1.5,"value":0.25}
std::string JsonLines(const v1::MetricColumn& column, int attempt);
// {"type":"histogram","series":..,"step":..,"time":..,"min":..,"max":..,"counts":[..],"non_finite":0}
std::string JsonLine(const v1::Histogram& histogram);
// {"type":"text","series":..,"step":..,"time":..,"text":..}
std::string JsonLine(const v1::Text& text);

}  // namespace ddp

#endif  // DDP_CLIENT_EXCHANGE_ROWS_H_
