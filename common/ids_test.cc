#include "common/ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddp {
namespace {

// 10 units of 64 ms, then random bits 33 = 1 * 32 + 1: 8 digits of time "0000000a", 4 of random "0011".
TEST(JobId, IsTimeThenRandomInCrockfordBase32) {
  EXPECT_EQ(MakeJobId(absl::FromUnixMillis(640), 33), "0000000a0011");
  EXPECT_EQ(MakeJobId(absl::FromUnixMillis(640 + 63), 33), "0000000a0011");
  EXPECT_EQ(MakeJobId(absl::FromUnixMillis(31 * 64), 31), "0000000z000z");
  EXPECT_EQ(MakeJobId(absl::FromUnixMillis(32 * 64), 32), "000000100010");
}

TEST(JobId, OnlyTwentyRandomBitsAreUsed) {
  EXPECT_EQ(MakeJobId(absl::FromUnixMillis(0), ~uint64_t{0}), "00000000zzzz");
}

TEST(JobId, LaterIdsSortLater) {
  std::string last;
  for (int64_t millis = 1'764'571'440'000; millis < 1'764'571'450'000; millis += 64) {
    const std::string id = MakeJobId(absl::FromUnixMillis(millis), RandomBits());
    ASSERT_EQ(id.size(), 12);
    ASSERT_LT(last, id);
    last = id;
  }
}

TEST(JobId, PrefixesHoldOnlyTheAlphabet) {
  for (const char* good : {"0", "z", "00c9t1v2k3m4", "abcdefghjkmn"}) EXPECT_TRUE(IsJobIdPrefix(good)) << good;
  for (const char* bad : {"", "A", "i", "l", "o", "u", "../x", "0000000000000", "ab c", "a/b", "ä", "a\n"}) {
    EXPECT_FALSE(IsJobIdPrefix(bad)) << bad;
  }
  EXPECT_FALSE(IsJobIdPrefix(std::string_view("a\0b", 3)));
}

TEST(Secret, Is64HexDigitsAndNeverTheSame) {
  const std::string secret = MakeSecret();
  EXPECT_THAT(secret, testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_NE(secret, MakeSecret());
}

TEST(Secret, EqualMeansEqual) {
  EXPECT_TRUE(SecretsEqual("", ""));
  EXPECT_TRUE(SecretsEqual("abc", "abc"));
  EXPECT_FALSE(SecretsEqual("abc", "abd"));
  EXPECT_FALSE(SecretsEqual("xbc", "abc"));
  EXPECT_FALSE(SecretsEqual("abc", "ab"));
  EXPECT_FALSE(SecretsEqual("", "a"));
}

}  // namespace
}  // namespace ddp
