#include "client/columns.h"

#include <locale.h>
#include <wchar.h>

#include <limits>
#include <utility>

namespace ddp {

namespace {

// The bytes and columns of the longest beginning of at most `width` columns.
std::pair<size_t, int> Fit(std::string_view text, int width) {
  // Whatever the locale of this process, our texts are UTF-8. Kept for the life of the process.
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = uselocale(utf8);
  size_t bytes = 0;
  int columns = 0;
  mbstate_t state{};
  while (bytes < text.size()) {
    wchar_t character = 0;
    size_t length = mbrtowc(&character, text.data() + bytes, text.size() - bytes, &state);
    int wide = 1;
    if (length == 0 || length > text.size() - bytes) {
      // A null, or no UTF-8: some sign for the byte.
      length = 1;
      state = {};
    } else if (const int known = wcwidth(character); known >= 0) {
      wide = known;
    }
    if (columns > width - wide) break;
    bytes += length;
    columns += wide;
  }
  uselocale(before);
  return {bytes, columns};
}

}  // namespace

int Columns(std::string_view text) { return Fit(text, std::numeric_limits<int>::max()).second; }

std::string_view CutColumns(std::string_view text, int width) { return text.substr(0, Fit(text, width).first); }

}  // namespace ddp
