#include "spec/excerpt.h"

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace ddp {

std::string Excerpt(const std::string& text) {
  constexpr size_t kShown = 100;
  const std::string shown = absl::StrCat("\"", EscapeControls(CutUtf8(text, kShown)), "\"");
  return text.size() <= kShown ? shown : absl::StrCat(shown, "... (", text.size(), " bytes)");
}

}  // namespace ddp
