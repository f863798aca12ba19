#include "worker/models/options.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"

namespace ddp {

namespace {
constexpr char kPath[] = "training.model.options.";
}

const std::string* OptionReader::Find(const std::string& name) {
  known_.push_back(name);
  auto it = options_.find(name);
  return it == options_.end() ? nullptr : &it->second;
}

void OptionReader::Refuse(const std::string& name, const std::string& text) {
  if (error_.ok()) error_ = absl::InvalidArgumentError(absl::StrCat(kPath, name, ": ", text));
}

int64_t OptionReader::Integer(const std::string& name, int64_t fallback, int64_t low, int64_t high) {
  const std::string* text = Find(name);
  if (text == nullptr) return fallback;
  int64_t value = 0;
  if (!absl::SimpleAtoi(*text, &value) || value < low || value > high) {
    Refuse(name, absl::StrCat("must be a whole number from ", low, " to ", high, ", is '", *text, "'"));
    return fallback;
  }
  return value;
}

double OptionReader::Number(const std::string& name, double fallback, double low, double high_exclusive) {
  const std::string* text = Find(name);
  if (text == nullptr) return fallback;
  double value = 0;
  if (!absl::SimpleAtod(*text, &value) || !std::isfinite(value) || value < low || value >= high_exclusive) {
    Refuse(name, absl::StrCat("must be a number from ", low, " to below ", high_exclusive, ", is '", *text, "'"));
    return fallback;
  }
  return value;
}

std::vector<int64_t> OptionReader::Integers(const std::string& name, std::vector<int64_t> fallback, int64_t low,
                                            int64_t high) {
  const std::string* text = Find(name);
  if (text == nullptr) return fallback;
  std::vector<int64_t> values;
  for (const absl::string_view part : absl::StrSplit(*text, ',', absl::SkipWhitespace())) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(part, &value) || value < low || value > high) {
      Refuse(name,
             absl::StrCat("must be whole numbers from ", low, " to ", high, " with commas between, is '", *text, "'"));
      return fallback;
    }
    values.push_back(value);
  }
  return values;
}

std::string OptionReader::Choice(const std::string& name, const std::string& fallback,
                                 const std::vector<std::string>& choices) {
  const std::string* text = Find(name);
  if (text == nullptr) return fallback;
  if (std::find(choices.begin(), choices.end(), *text) == choices.end()) {
    Refuse(name, absl::StrCat("must be one of ", absl::StrJoin(choices, ", "), ", is '", *text, "'"));
    return fallback;
  }
  return *text;
}

absl::Status OptionReader::status() const {
  if (!error_.ok()) return error_;
  for (const auto& [name, value] : options_) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string nearest = NearestName(name, known_);
    return absl::InvalidArgumentError(
        absl::StrCat(kPath, name, ": this model has no such option",
                     nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?"),
                     " It has: ", known_.empty() ? "none" : absl::StrJoin(known_, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace ddp
