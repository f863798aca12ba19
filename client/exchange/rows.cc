#include "client/exchange/rows.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ddp {

namespace {

std::string JsonNumber(double value) {
  return std::isfinite(value) ? NumberText(value) : absl::StrCat("\"", NumberText(value), "\"");
}

std::string JsonText(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string NumberText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr};
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string CsvRows(const v1::MetricColumn& column, int attempt) {
  const std::string begin = absl::StrCat(attempt, ",", CsvField(column.series()), ",");
  std::string text;
  for (int i = 0; i < column.step_size(); ++i) {
    absl::StrAppend(&text, begin, column.step(i), ",", NumberText(column.time(i)), ",", NumberText(column.value(i)),
                    "\n");
  }
  return text;
}

std::string JsonLines(const v1::MetricColumn& column, int attempt) {
  const std::string begin =
      absl::StrCat("{\"type\":\"scalar\",\"attempt\":", attempt, ",\"series\":", JsonText(column.series()));
  std::string text;
  for (int i = 0; i < column.step_size(); ++i) {
    absl::StrAppend(&text, begin, ",\"step\":", column.step(i), ",\"time\":", JsonNumber(column.time(i)),
                    ",\"value\":", JsonNumber(column.value(i)), "}\n");
  }
  return text;
}

std::string JsonLine(const v1::Histogram& histogram) {
  return absl::StrCat(absl::StrCat("{\"type\":\"histogram\",\"series\":", JsonText(histogram.series()),
                                   ",\"step\":", histogram.step(), ",\"time\":", JsonNumber(histogram.time())),
                      ",\"min\":", JsonNumber(histogram.min()), ",\"max\":", JsonNumber(histogram.max()),
                      ",\"counts\":[", absl::StrJoin(histogram.counts(), ","),
                      "],\"non_finite\":", histogram.non_finite(), "}\n");
}

std::string JsonLine(const v1::Text& text) {
  return absl::StrCat("{\"type\":\"text\",\"series\":", JsonText(text.series()), ",\"step\":", text.step(),
                      ",\"time\":", JsonNumber(text.time()), ",\"text\":", JsonText(text.text()), "}\n");
}

}  // namespace ddp
