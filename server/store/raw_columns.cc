#include "server/store/raw_columns.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace ddp {
namespace {

static_assert(std::endian::native == std::endian::little, "packed doubles are read as they lie");

constexpr uint64_t kLengthDelimited = 2;

inline bool ReadVarint(std::string_view& bytes, uint64_t& value) {
  if (!bytes.empty() && static_cast<uint8_t>(bytes[0]) < 0x80) {  // most are small
    value = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    return true;
  }
  value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// All fields of these messages are length-delimited.
bool ReadField(std::string_view& bytes, uint64_t& number, std::string_view& content) {
  uint64_t tag = 0;
  uint64_t size = 0;
  if (!ReadVarint(bytes, tag) || (tag & 7) != kLengthDelimited || !ReadVarint(bytes, size) || size > bytes.size()) {
    return false;
  }
  number = tag >> 3;
  content = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

double DoubleAt(std::string_view bytes, size_t index) {
  double value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof(double), sizeof(double));
  return value;
}

}  // namespace

bool ReadColumns(std::string_view batch, absl::FunctionRef<bool(const RawColumn&)> take) {
  uint64_t number = 0;
  std::string_view content;
  while (!batch.empty()) {
    if (!ReadField(batch, number, content)) return false;
    if (number != v1::MetricBatch::kColumnsFieldNumber) continue;
    RawColumn column;
    std::string_view field;
    while (!content.empty()) {
      if (!ReadField(content, number, field)) return false;
      if (number == v1::MetricColumn::kSeriesFieldNumber) column.series = field;
      if (number == v1::MetricColumn::kStepFieldNumber) column.steps = field;
      if (number == v1::MetricColumn::kTimeFieldNumber) column.times = field;
      if (number == v1::MetricColumn::kValueFieldNumber) column.values = field;
    }
    if (!take(column)) return false;
  }
  return true;
}

bool AppendPoints(const RawColumn& column, std::vector<Point>& points) {
  const size_t count = std::min(column.times.size(), column.values.size()) / sizeof(double);
  std::string_view steps = column.steps;
  const size_t before = points.size();
  points.resize(before + count);
  Point* const added = points.data() + before;
  size_t i = 0;
  for (; i < count && !steps.empty(); ++i) {
    uint64_t step = 0;
    if (!ReadVarint(steps, step)) break;
    added[i] = {static_cast<int64_t>(step), DoubleAt(column.times, i), DoubleAt(column.values, i)};
  }
  points.resize(before + i);
  return i == count || steps.empty();
}

double EarliestTime(const RawColumn& column, double earliest) {
  for (size_t i = 0; i < column.times.size() / sizeof(double); ++i) {
    earliest = std::min(earliest, DoubleAt(column.times, i));
  }
  return earliest;
}

}  // namespace ddp
