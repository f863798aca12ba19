#include "worker/data/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddp {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> Encode(const Tokenizer& tokenizer, std::string_view text, int max_tokens = 32) {
  std::vector<int32_t> ids;
  tokenizer.Encode(text, max_tokens, &ids);
  return ids;
}

Tokenizer Make(int vocab_size) {
  Texts texts;
  texts.Add("The cat; the DOG");
  texts.Add("the cat's tail");
  texts.Add("never counted counted counted counted counted");
  return Tokenizer::Words(texts, {0, 1}, vocab_size);
}

TEST(TokenizerTest, WordsByCountThenBytes) {
  // the 3, cat 2, then dog, s, tail once each.
  const Tokenizer tokenizer = Make(100);
  EXPECT_EQ(tokenizer.vocab_size(), 8);
  EXPECT_THAT(Encode(tokenizer, "THE cat dog s tail"), ElementsAre(3, 4, 5, 6, 7));
  EXPECT_THAT(Encode(tokenizer, "the unknown counted"), ElementsAre(3, 1, 1));
  EXPECT_THAT(Encode(tokenizer, "... !"), ElementsAre(1));
  EXPECT_THAT(Encode(tokenizer, "the the the", 2), ElementsAre(3, 3));
}

TEST(TokenizerTest, VocabularyIsCut) {
  const Tokenizer tokenizer = Make(5);
  EXPECT_EQ(tokenizer.vocab_size(), 5);
  EXPECT_THAT(Encode(tokenizer, "the cat dog"), ElementsAre(3, 4, 1));
}

TEST(TokenizerTest, ManyWordsKeepTheirIds) {
  // Beyond several doublings of the table.
  Texts texts;
  std::vector<int64_t> all;
  constexpr int kWords = 20000;
  for (int i = 0; i < kWords; ++i) {
    texts.Add("w" + std::to_string(100000 + i));
    all.push_back(i);
  }
  const Tokenizer tokenizer = Tokenizer::Words(texts, all, 1000000);
  EXPECT_EQ(tokenizer.vocab_size(), kWords + kSpecialTokens);
  EXPECT_THAT(Encode(tokenizer, "w100000 w110000 w119999"), ElementsAre(3, 10003, 20002));
}

TEST(TokenizerTest, Bytes) {
  const Tokenizer tokenizer = Tokenizer::Bytes();
  EXPECT_EQ(tokenizer.vocab_size(), 259);
  EXPECT_THAT(Encode(tokenizer, "A\xff", 9), ElementsAre(0x41 + 3, 0xff + 3));
  EXPECT_THAT(Encode(tokenizer, "abc", 2), ElementsAre(100, 101));
  EXPECT_THAT(Encode(tokenizer, ""), ElementsAre(1));
}

TEST(TokenizerTest, JsonRoundTrip) {
  const Tokenizer words = Make(100);
  const auto again = Tokenizer::FromJson(words.ToJson());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->ToJson(), words.ToJson());
  EXPECT_THAT(Encode(*again, "the cat dog"), ElementsAre(3, 4, 5));
  EXPECT_EQ(Tokenizer::FromJson(Tokenizer::Bytes().ToJson())->vocab_size(), 259);
  for (const char* wrong : {"", "[]", "{}", R"({"kind":"words"})", R"({"kind":"words","words":[1]})",
                            R"({"kind":"words","words":["a","a"]})", R"({"kind":"other"})"}) {
    EXPECT_FALSE(Tokenizer::FromJson(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace ddp
