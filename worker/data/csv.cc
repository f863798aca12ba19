#include "worker/data/csv.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {

CsvReader::CsvReader(std::string_view content, std::string name, char separator, bool whole)
    : content_(content), name_(std::move(name)), separator_(separator), whole_(whole) {}

absl::Status CsvReader::ErrorAtLine(int64_t line, std::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(name_, ":", line, ": ", std::string(what)));
}

absl::Status CsvReader::SkipByteOrderMark() {
  if (content_.starts_with("\xFF\xFE") || content_.starts_with("\xFE\xFF")) {
    return absl::InvalidArgumentError(absl::StrCat(name_, " is UTF-16 text; save it as UTF-8"));
  }
  if (content_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  return absl::OkStatus();
}

absl::Status CsvReader::ErrorAtByte(size_t offset, std::string_view what) const {
  return ErrorAtLine(1 + std::count(content_.begin(), content_.begin() + static_cast<ptrdiff_t>(offset), '\n'), what);
}

absl::Status CsvReader::NulError(size_t at) const {
  return ErrorAtByte(
      at, absl::StrCat("a NUL byte at byte offset ", at, ": this is not UTF-8 text (UTF-16, or a binary file?)"));
}

absl::StatusOr<bool> CsvReader::Next() {
  if (at_ == 0) DDP_RETURN_IF_ERROR(SkipByteOrderMark());
  fields_.clear();
  scratch_.clear();
  unescaped_.clear();
  record_line_ = line_;
  if (at_ >= content_.size()) return false;
  const size_t begin = at_;
  Outcome outcome = Outcome::kField;
  while (outcome == Outcome::kField) {
    DDP_ASSIGN_OR_RETURN(outcome, ReadField());
  }
  if (outcome == Outcome::kCut) {
    fields_.clear();
    return false;
  }
  ResolveUnescaped();
  if (width_ == 0) width_ = fields_.size();
  // A quoted field begins behind its quote.
  const bool empty = fields_.size() == 1 && fields_[0].value.empty() && fields_[0].offset == begin;
  if (empty && width_ == 1) return Error("an empty line; delete it, or write \"\" for an empty field");
  if (fields_.size() != width_) {
    return Error(empty ? absl::StrCat("an empty line, ", width_, " fields are needed")
                       : absl::StrCat(fields_.size(), " fields, but the header has ", width_));
  }
  return true;
}

// What follows a field.
absl::StatusOr<CsvReader::Outcome> CsvReader::EndField() {
  if (at_ == content_.size()) return whole_ ? Outcome::kLastField : Outcome::kCut;
  const char c = content_[at_];
  if (c == separator_) {
    ++at_;
    return Outcome::kField;
  }
  if (c == '\n' || (c == '\r' && at_ + 1 < content_.size() && content_[at_ + 1] == '\n')) {
    at_ += c == '\n' ? 1 : 2;
    ++line_;
    return Outcome::kLastField;
  }
  if (c == '\0') return NulError(at_);
  if (c == '\r') {
    if (at_ + 1 == content_.size() && !whole_) return Outcome::kCut;
    return ErrorAtLine(line_, "a carriage return without a line feed; a field that holds one must be quoted");
  }
  if (c == '"')
    return ErrorAtLine(line_, "a quote inside a field that does not begin with one; quote the field and double it");
  return ErrorAtLine(line_, absl::StrCat("text after a closing quote: '", std::string(1, c), "'"));
}

absl::StatusOr<CsvReader::Outcome> CsvReader::ReadField() {
  if (at_ < content_.size() && content_[at_] == '"') return ReadQuoted();
  const size_t begin = at_;
  while (at_ < content_.size()) {
    const char c = content_[at_];
    // One comparison for most bytes: all the special ones but an unusual separator are below '#'.
    if (c == separator_ || (static_cast<unsigned char>(c) < '#' && (c == '\n' || c == '\r' || c == '"' || c == '\0'))) {
      break;
    }
    ++at_;
  }
  fields_.push_back({content_.substr(begin, at_ - begin), begin});
  return EndField();
}

absl::StatusOr<CsvReader::Outcome> CsvReader::ReadQuoted() {
  const int64_t opened = line_;
  const size_t begin = ++at_;
  const size_t scratch_begin = scratch_.size();
  size_t piece = begin;
  while (true) {
    const size_t quote = content_.find('"', at_);
    if (quote == std::string_view::npos) {
      if (!whole_) return Outcome::kCut;
      return ErrorAtLine(opened, "the quoted field that begins here is never closed");
    }
    line_ += std::count(content_.begin() + static_cast<ptrdiff_t>(at_),
                        content_.begin() + static_cast<ptrdiff_t>(quote), '\n');
    at_ = quote + 1;
    const bool doubled = at_ < content_.size() && content_[at_] == '"';
    if (!doubled) break;
    scratch_.append(content_.substr(piece, at_ - piece));
    piece = ++at_;
  }
  const std::string_view last = content_.substr(piece, at_ - 1 - piece);
  if (scratch_.size() == scratch_begin) {
    fields_.push_back({last, begin});
  } else {
    scratch_.append(last);
    unescaped_.push_back({fields_.size(), scratch_begin, scratch_.size() - scratch_begin});
    fields_.push_back({{}, begin});
  }
  const size_t nul = content_.substr(begin, at_ - begin).find('\0');
  if (nul != std::string_view::npos) return NulError(begin + nul);
  return EndField();
}

void CsvReader::ResolveUnescaped() {
  for (const Unescaped& u : unescaped_) fields_[u.field].value = std::string_view(scratch_).substr(u.begin, u.size);
}

}  // namespace ddp
