#include "spec/init_from.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "spec/excerpt.h"

namespace ddp {

absl::StatusOr<InitFrom> ParseInitFrom(const std::string& text) {
  InitFrom result;
  if (text.empty()) return result;
  if (text.front() == '/') {
    result.kind = InitFrom::Kind::kPath;
    result.path = text;
    return result;
  }
  const size_t at = text.find('@');
  result.kind = InitFrom::Kind::kJob;
  result.job = text.substr(0, at);
  const std::optional<int64_t> choice = ParseCheckpointChoice(at == std::string::npos ? "last" : text.substr(at + 1));
  if (!IsJobIdPrefix(result.job) || !choice) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be JOB, JOB@last, JOB@best, JOB@STEP, or an absolute path of a checkpoint folder or a "
                     ".safetensors file, got ",
                     Excerpt(text)));
  }
  result.step = *choice;
  return result;
}

std::optional<int64_t> ParseCheckpointChoice(const std::string& text) {
  if (text == "last") return InitFrom::kLast;
  if (text == "best") return InitFrom::kBest;
  int64_t step = -1;
  // Digits and nothing else: SimpleAtoi alone takes blanks and signs too.
  const bool ok = std::all_of(text.begin(), text.end(), absl::ascii_isdigit) && absl::SimpleAtoi(text, &step);
  return ok ? std::optional<int64_t>(step) : std::nullopt;
}

bool NeedsDescription(const v1::Training& child, const std::string& init_path) {
  std::error_code error;
  return !init_path.empty() && (child.model().name().empty() || !child.data().has_max_tokens()) &&
         std::filesystem::is_directory(init_path, error);
}

void TakeFromParent(const v1::Training& parent, v1::Training& child) {
  if (child.model().name().empty()) {
    const auto options = child.model().options();
    *child.mutable_model() = parent.model();
    for (const auto& [name, value] : options) (*child.mutable_model()->mutable_options())[name] = value;
  }
  // Of words, this is the most that the vocabulary may have: the parent's may have fewer.
  if (child.data().has_vocab_size() && child.data().vocab_size() == parent.data().vocab_size()) {
    child.mutable_data()->clear_vocab_size();
  }
  if (!child.data().has_max_tokens()) child.mutable_data()->set_max_tokens(parent.data().max_tokens());
}

}  // namespace ddp
