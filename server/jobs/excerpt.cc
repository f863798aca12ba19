#include "server/jobs/excerpt.h"

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace ddp {

std::string Excerpt(const std::string& text) {
  constexpr size_t kShown = 100;
  if (text.size() <= kShown) return absl::StrCat("\"", EscapeControls(text), "\"");
  size_t end = kShown;
  // Not inside a UTF-8 sequence.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat("\"", EscapeControls(text.substr(0, end)), "\"... (", text.size(), " bytes)");
}

}  // namespace ddp
