#include "worker/data/raw_samples.h"

#include "absl/strings/str_cat.h"

namespace ddp {

absl::Status FieldError(std::string_view field, std::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(field), ": ", std::string(text)));
}

absl::Status FieldError(std::string_view field, const absl::Status& error) {
  if (absl::IsCancelled(error)) return error;
  return {error.code(), absl::StrCat(std::string(field), ": ", error.message())};
}

DataProblem ProblemOf(const absl::Status& field_error) {
  const std::string text(field_error.message());
  const size_t colon = text.find(": ");
  return {text.substr(0, colon), text.substr(colon + 2)};
}

}  // namespace ddp
