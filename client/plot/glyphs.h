// What a terminal can show.
#ifndef DDP_CLIENT_PLOT_GLYPHS_H_
#define DDP_CLIENT_PLOT_GLYPHS_H_

namespace ddp {

enum class Glyphs { kUnicode, kAscii };

// As the C library decides: the first of the three that is set and not empty; unset: ASCII. Null: unset.
Glyphs GlyphsOf(const char* lc_all, const char* lc_ctype, const char* lang);
// Of this process's environment.
Glyphs LocaleGlyphs();

// Colours: on a terminal that is not "dumb", unless NO_COLOR is set (https://no-color.org: to anything but nothing).
bool ColorsOn(int fd);

}  // namespace ddp

#endif  // DDP_CLIENT_PLOT_GLYPHS_H_
