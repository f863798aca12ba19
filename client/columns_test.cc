#include "client/columns.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

TEST(ColumnsTest, WideAndCombiningCharacters) {
  EXPECT_EQ(Columns(""), 0);
  EXPECT_EQ(Columns("step 1"), 6);
  EXPECT_EQ(Columns("Größe"), 5);
  EXPECT_EQ(Columns("e\xCC\x81"), 1);  // e with a combining accent
  EXPECT_EQ(Columns("数据"), 4);
  EXPECT_EQ(Columns("▁█"), 2);
  EXPECT_EQ(Columns("a\xFF"), 2);  // a byte that is no UTF-8
}

TEST(ColumnsTest, CutsBetweenCharacters) {
  EXPECT_EQ(CutColumns("Größe", 3), "Grö");
  EXPECT_EQ(CutColumns("数据", 4), "数据");
  EXPECT_EQ(CutColumns("数据", 3), "数");
  EXPECT_EQ(CutColumns("数据", 1), "");
  EXPECT_EQ(CutColumns("e\xCC\x81x", 1), "e\xCC\x81");
  EXPECT_EQ(CutColumns("abc", 0), "");
}

}  // namespace
}  // namespace ddp
