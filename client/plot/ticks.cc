#include "client/plot/ticks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ddp {

namespace {

// What is smaller than this part of the distance between ticks is rounding.
constexpr double kSlack = 1e-9;

// The smallest of 1, 2, 5, 10, 20, ... times a power of ten that cuts the range into at most `wanted` parts.
double NiceStep(double range, int wanted) {
  const double raw = range / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - kSlack)) return factor * power;
  }
  return 10 * power;
}

int Exponent(double value) { return static_cast<int>(std::floor(std::log10(value) + kSlack)); }

// "1.5e-05" -> "1.5e-5"
std::string ShortExponent(std::string text) {
  const size_t e = text.find('e');
  if (e == std::string::npos) return text;
  std::string digits = text.substr(e + 2);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return absl::StrCat(text.substr(0, e), text[e + 1] == '-' ? "e-" : "e", digits);
}

// With as many digits as tell it from its neighbours.
std::string NumberLabel(double value, double step, double largest) {
  if (std::abs(value) < step * kSlack) return "0";
  if (largest >= 1e6 || step < 1e-5) {
    return ShortExponent(absl::StrFormat("%.*e", std::max(0, Exponent(std::abs(value)) - Exponent(step)), value));
  }
  return absl::StrFormat("%.*f", std::max(0, -Exponent(step)), value);
}

// Multiples of step within lo..hi, shifted by `origin`.
std::vector<double> Multiples(double lo, double hi, double step, double origin = 0) {
  std::vector<double> values;
  const double first = std::ceil((lo - origin) / step - kSlack);
  const double last = std::floor((hi - origin) / step + kSlack);
  // Never more than a screen holds, whatever rounding makes of extreme values.
  const auto count = static_cast<int>(std::clamp(last - first + 1, 0.0, 1000.0));
  for (int i = 0; i < count; ++i) values.push_back(origin + (first + i) * step);
  return values;
}

// Seconds; the largest unit of time that is not longer than needed.
double NiceDuration(double range, int wanted) {
  const double raw = range / std::max(1, wanted);
  constexpr double kDay = 86400;
  if (raw <= 1) return NiceStep(range, wanted);
  for (const double step : {1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
                            10800.0, 21600.0, 43200.0, kDay}) {
    if (step >= raw * (1 - kSlack)) return step;
  }
  return std::max(1.0, NiceStep(range / kDay, wanted)) * kDay;
}

std::string DurationLabel(double seconds, double step) {
  if (step < 1) return NumberLabel(seconds, step, std::abs(seconds)) + "s";
  const auto whole = std::llround(seconds);
  if (whole == 0) return "0s";
  const int64_t parts[] = {whole / 86400, whole / 3600 % 24, whole / 60 % 60, whole % 60};
  std::string text;
  for (int i = 0; i < 4; ++i) {
    if (parts[i] != 0) absl::StrAppend(&text, std::abs(parts[i]), std::string(1, "dhms"[i]));
  }
  return whole < 0 ? "-" + text : text;
}

}  // namespace

std::vector<Tick> NumberTicks(double lo, double hi, int wanted) {
  const double largest = std::max(std::abs(lo), std::abs(hi));
  // Halved, since the difference may be more than a double holds.
  const double half = hi / 2 - lo / 2;
  // A range at the end of a double's digits has no room for ticks.
  if (!(half > std::max(largest * 1e-12, 1e-300)))
    return {{lo, NumberLabel(lo, std::max(std::abs(lo) * 1e-3, 1e-300), largest)}};
  const double step = half > 1e307 ? half / std::max(1, wanted) * 2 : NiceStep(2 * half, wanted);
  std::vector<Tick> ticks;
  for (const double value : Multiples(lo, hi, step)) ticks.push_back({value, NumberLabel(value, step, largest)});
  if (ticks.empty()) ticks.push_back({lo, NumberLabel(lo, step, largest)});
  return ticks;
}

std::vector<Tick> StepTicks(double lo, double hi, int wanted) {
  const double step = hi > lo ? std::max(1.0, NiceStep(hi - lo, wanted)) : 1;
  const auto [unit, suffix] = hi >= 1e9   ? std::pair(1e9, "G")
                              : hi >= 1e6 ? std::pair(1e6, "M")
                              : hi >= 1e4 ? std::pair(1e3, "k")
                                          : std::pair(1.0, "");
  std::vector<double> values = Multiples(lo, hi, step);
  if (values.empty()) values.push_back(lo);
  std::vector<Tick> ticks;
  for (const double value : values) {
    const int decimals = std::max(0, -Exponent(step / unit));
    ticks.push_back({value, value == 0 ? "0" : absl::StrFormat("%.*f%s", decimals, value / unit, suffix)});
  }
  return ticks;
}

std::vector<Tick> LogTicks(double lo, double hi, int wanted) {
  const int first = Exponent(lo);
  const int last = static_cast<int>(std::ceil(std::log10(hi) - kSlack));
  const int decades = last - first;
  if (std::log10(hi / lo) < 0.5) return NumberTicks(lo, hi, wanted);
  const int stride = std::max(1, (decades + wanted - 1) / std::max(1, wanted));
  std::vector<Tick> ticks;
  for (int e = first; e <= last; ++e) {
    if (e % stride != 0) continue;
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && 3 * decades > wanted) break;
      const double value = factor * std::pow(10, e);
      if (value >= lo * (1 - kSlack) && value <= hi * (1 + kSlack))
        ticks.push_back({value, ShortExponent(absl::StrFormat("%g", value))});
    }
  }
  if (ticks.empty()) ticks.push_back({lo, ShortExponent(absl::StrFormat("%.3g", lo))});
  return ticks;
}

std::vector<Tick> DurationTicks(double lo, double hi, int wanted) {
  const double step = hi > lo ? NiceDuration(hi - lo, wanted) : 1;
  std::vector<double> values = Multiples(lo, hi, step);
  if (values.empty()) values.push_back(lo);
  std::vector<Tick> ticks;
  for (const double value : values) ticks.push_back({value, DurationLabel(value, step)});
  return ticks;
}

std::vector<Tick> ClockTicks(double lo, double hi, int wanted, const absl::TimeZone& zone) {
  // Whole seconds at least: nobody reads fractions on a clock.
  const double step = hi > lo ? std::max(1.0, NiceDuration(hi - lo, wanted)) : 1;
  // Round in local time.
  const double offset = zone.At(absl::FromUnixSeconds(static_cast<int64_t>(lo))).offset;
  std::vector<double> values = Multiples(lo, hi, step, -offset);
  if (values.empty()) values.push_back(lo);
  const std::string format = step >= 86400 ? "%b %d" : step >= 60 ? "%H:%M" : "%H:%M:%S";
  std::vector<Tick> ticks;
  for (const double value : values) {
    ticks.push_back({value, absl::FormatTime(format, absl::FromUnixSeconds(std::llround(value)), zone)});
  }
  return ticks;
}

}  // namespace ddp
