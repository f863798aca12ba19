#include "worker/data/text_lines.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace ddp {

LineReader::LineReader(std::string_view content, std::string name, bool whole)
    : content_(content), name_(std::move(name)), whole_(whole) {}

absl::Status LineReader::Error(std::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(name_, ":", number_, ": ", std::string(what)));
}

absl::StatusOr<bool> LineReader::Next() {
  if (at_ == 0) {
    if (content_.starts_with("\xFF\xFE") || content_.starts_with("\xFE\xFF")) {
      return absl::InvalidArgumentError(absl::StrCat(name_, " is UTF-16 text; save it as UTF-8"));
    }
    if (content_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }
  while (at_ < content_.size()) {
    const size_t end = content_.find('\n', at_);
    if (end == std::string_view::npos && !whole_) break;
    begin_ = at_;
    line_ = content_.substr(at_, end == std::string_view::npos ? end : end - at_);
    at_ = end == std::string_view::npos ? content_.size() : end + 1;
    ++number_;
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    if (line_.find_first_not_of(" \t") == std::string_view::npos) continue;
    DDP_RETURN_IF_ERROR(CheckText());
    return true;
  }
  return false;
}

absl::Status LineReader::CheckText() const {
  const size_t nul = line_.find('\0');
  if (nul != std::string_view::npos) {
    return Error(
        absl::StrCat("byte ", begin_ + nul, ": a NUL byte: this is not UTF-8 text (UTF-16, or a binary file?)"));
  }
  const size_t bad = FindInvalidUtf8(line_);
  if (bad == std::string_view::npos) return absl::OkStatus();
  return Error(absl::StrFormat("byte %d: 0x%02X begins no UTF-8 character; save the file as UTF-8", begin_ + bad,
                               static_cast<unsigned char>(line_[bad])));
}

absl::Status AddLines(LineReader& lines, std::string_view field, int64_t max_rows, const StopCheck& should_stop,
                      const std::function<absl::Status()>& add, RawSamples* samples) {
  for (;;) {
    const absl::StatusOr<bool> more = lines.Next();
    if (!more.ok()) return FieldError(field, more.status());
    if (!*more) return absl::OkStatus();
    if (samples->size == max_rows) {
      samples->whole = false;
      return absl::OkStatus();
    }
    DDP_RETURN_IF_ERROR(add());
    if (++samples->size % kStopCheckEvery == 0 && should_stop && should_stop()) return StoppedError();
  }
}

absl::StatusOr<RawSamples> ReadTextLines(const std::string& path, const InputFile& file, std::string_view field,
                                         int64_t max_rows, const StopCheck& should_stop) {
  LineReader lines(file.content, path, file.whole);
  RawSamples samples;
  samples.has_text = true;
  samples.whole = file.whole;
  const auto add = [&] {
    samples.texts.Add(lines.line());
    return absl::OkStatus();
  };
  DDP_RETURN_IF_ERROR(AddLines(lines, field, max_rows, should_stop, add, &samples));
  if (samples.size == 0 && samples.whole) return FieldError(field, absl::StrCat(path, " holds no line of text"));
  return samples;
}

}  // namespace ddp
