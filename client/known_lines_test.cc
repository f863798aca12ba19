#include "client/known_lines.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

using Lines = std::vector<std::string>;

TEST(KnownLinesTest, AfterABreakOnlyWhatIsNew) {
  KnownLines known;
  EXPECT_EQ(known.New({"a", "b"}), (Lines{"a", "b"}));
  EXPECT_EQ(known.New({"b"}), Lines{"b"});  // no break: printed twice
  known.Repeat();
  EXPECT_EQ(known.New({"a", "b", "b", "c"}), Lines{"c"});
  EXPECT_EQ(known.New({"c"}), Lines{"c"});
}

TEST(KnownLinesTest, WhatHasScrolledAwayIsShownWhole) {
  KnownLines known;
  known.New({"a", "b"});
  known.Repeat();
  EXPECT_EQ(known.New({"x", "y"}), (Lines{"x", "y"}));
}

TEST(KnownLinesTest, ABreakBeforeTheFirstLine) {
  KnownLines known;
  known.Repeat();
  EXPECT_EQ(known.New({"a"}), Lines{"a"});
}

}  // namespace
}  // namespace ddp
