#include "client/plot/glyphs.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

TEST(GlyphsTest, TheFirstThatIsSetDecides) {
  EXPECT_EQ(GlyphsOf(nullptr, nullptr, "en_US.UTF-8"), Glyphs::kUnicode);
  EXPECT_EQ(GlyphsOf(nullptr, nullptr, "C.utf8"), Glyphs::kUnicode);
  EXPECT_EQ(GlyphsOf("", "de_DE.UTF-8", "C"), Glyphs::kUnicode);
  EXPECT_EQ(GlyphsOf("C", "de_DE.UTF-8", "de_DE.UTF-8"), Glyphs::kAscii);
  EXPECT_EQ(GlyphsOf(nullptr, nullptr, "de_DE.ISO-8859-1"), Glyphs::kAscii);
  EXPECT_EQ(GlyphsOf(nullptr, nullptr, nullptr), Glyphs::kAscii);
}

}  // namespace
}  // namespace ddp
