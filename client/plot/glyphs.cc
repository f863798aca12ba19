#include "client/plot/glyphs.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace ddp {

namespace {
bool IsSet(const char* value) { return value != nullptr && *value != '\0'; }
}  // namespace

Glyphs GlyphsOf(const char* lc_all, const char* lc_ctype, const char* lang) {
  for (const char* value : {lc_all, lc_ctype, lang}) {
    if (!IsSet(value)) continue;
    const std::string name = absl::AsciiStrToLower(value);
    return absl::StrContains(name, "utf-8") || absl::StrContains(name, "utf8") ? Glyphs::kUnicode : Glyphs::kAscii;
  }
  return Glyphs::kAscii;
}

Glyphs LocaleGlyphs() { return GlyphsOf(std::getenv("LC_ALL"), std::getenv("LC_CTYPE"), std::getenv("LANG")); }

bool ColorsOn(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && IsSet(term) && std::string(term) != "dumb" && !IsSet(std::getenv("NO_COLOR"));
}

}  // namespace ddp
