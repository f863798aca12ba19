#include "server/daemon/prometheus_text.h"

#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace ddp {

namespace {

// Every digit that a double has, and no more than needed.
std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  for (const int digits : {15, 17}) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::stod(text) == value) break;
  }
  return text;
}

}  // namespace

void PrometheusText::Family(const std::string& name, const std::string& type, const std::string& help) {
  name_ = name;
  absl::StrAppend(&text_, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

void PrometheusText::Line(const std::string& name, const Labels& labels, double value) {
  text_ += name;
  const char* before = "{";
  for (const auto& [label, content] : labels) {
    absl::StrAppend(&text_, before, label, "=\"",
                    absl::StrReplaceAll(content, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}), "\"");
    before = ",";
  }
  absl::StrAppend(&text_, labels.empty() ? "" : "}", " ", Number(value), "\n");
}

void PrometheusText::Sample(double value, const Labels& labels) { Line(name_, labels, value); }

void PrometheusText::One(const std::string& name, const std::string& type, const std::string& help, double value) {
  Family(name, type, help);
  Sample(value);
}

void PrometheusText::Histogram(const std::string& name, const std::string& help, const TimeHistogram& histogram) {
  Family(name, "histogram", help);
  uint64_t total = 0;
  for (size_t i = 0; i <= TimeHistogram::kBounds.size(); ++i) {
    total += histogram.bucket(i);
    const bool last = i == TimeHistogram::kBounds.size();
    Line(name + "_bucket", {{"le", last ? "+Inf" : Number(TimeHistogram::kBounds[i])}}, static_cast<double>(total));
  }
  Line(name + "_sum", {}, histogram.sum());
  Line(name + "_count", {}, static_cast<double>(total));
}

}  // namespace ddp
