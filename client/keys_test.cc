#include "client/keys.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

using Keys = std::vector<Key>;

TEST(KeysTest, ArrowsInBothModesAndInPieces) {
  KeyReader reader;
  EXPECT_EQ(reader.Feed("\x1b[A\x1bOB"), (Keys{Key::kUp, Key::kDown}));
  EXPECT_EQ(reader.Feed("\x1b"), Keys{});
  EXPECT_EQ(reader.Feed("["), Keys{});
  EXPECT_EQ(reader.Feed("B"), Keys{Key::kDown});
}

TEST(KeysTest, OtherSequencesAreOneKey) {
  KeyReader reader;
  EXPECT_EQ(reader.Feed("\x1b[3~\x1b[1;5Aq"), (Keys{Key::kOther, Key::kOther, Key::kQuit}));
}

TEST(KeysTest, EscapeAlone) {
  KeyReader reader;
  EXPECT_EQ(reader.Feed("\x1bq"), (Keys{Key::kEscape, Key::kQuit}));
  EXPECT_EQ(reader.Feed("\x1b\x1b[A"), (Keys{Key::kEscape, Key::kUp}));
}

TEST(KeysTest, Letters) {
  KeyReader reader;
  EXPECT_EQ(reader.Feed("jkcpr\ry\x03z"), (Keys{Key::kDown, Key::kUp, Key::kCancel, Key::kPause, Key::kResume,
                                                Key::kEnter, Key::kYes, Key::kInterrupt, Key::kOther}));
}

}  // namespace
}  // namespace ddp
