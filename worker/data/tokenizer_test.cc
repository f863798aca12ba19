#include "worker/data/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "worker/data/testing.h"

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

TEST(TokenizerTest, Decode) {
  EXPECT_EQ(Make(100).Decode({{3, 2, 5, 1, 7, 0}}), "the [mask] dog [unknown] tail [pad]");
  EXPECT_EQ(Tokenizer::Bytes().Decode({{0x41 + 3, ' ' + 3, 2, 0xff + 3}}), "A [mask]\xff");
  EXPECT_EQ(Tokenizer::Bytes().Decode({{' ' + 3}}), " ");
  // Ids of a file have no names, not even the first ones.
  EXPECT_EQ(Tokenizer::Ids(50257).Decode({{2, 50256}}), "2 50256");
  EXPECT_EQ(Tokenizer().Decode({{3}}), "");
}

TEST(TokenizerTest, JsonRoundTrip) {
  const Tokenizer words = Make(100);
  const auto again = Tokenizer::FromJson(words.ToJson());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->ToJson(), words.ToJson());
  EXPECT_THAT(Encode(*again, "the cat dog"), ElementsAre(3, 4, 5));
  EXPECT_EQ(Tokenizer::FromJson(Tokenizer::Bytes().ToJson())->vocab_size(), 259);
  EXPECT_EQ(Tokenizer::FromJson(Tokenizer::Ids(50257).ToJson())->vocab_size(), 50257);
  for (const char* wrong : {R"({"kind":"sentencepiece","model":"###"})", R"({"kind":"sentencepiece","model":""})",
                            R"({"kind":"sentencepiece","model":"QUJD"})", R"({"kind":"ids","vocab_size":-1})", "", "[]",
                            "{}", R"({"kind":"words"})", R"({"kind":"words","words":[1]})",
                            R"({"kind":"words","words":["a","a"]})", R"({"kind":"other"})"}) {
    EXPECT_FALSE(Tokenizer::FromJson(wrong).ok()) << wrong;
  }
}

// The ids of Python's sentencepiece 0.2.0 for the same models (testdata/make.py).
TEST(TokenizerTest, SentencePieceAsPython) {
  const nlohmann::json right = nlohmann::json::parse(ReadAll(TestData("pieces.json")));
  for (const std::string kind : {"unigram", "bpe"}) {
    const auto made = Tokenizer::SentencePiece(ReadAll(TestData(kind + ".model")));
    ASSERT_TRUE(made.ok()) << made.status();
    // From the checkpoint, without the file.
    const auto tokenizer = Tokenizer::FromJson(made->ToJson());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    EXPECT_EQ(tokenizer->ToJson(), made->ToJson());
    EXPECT_EQ(tokenizer->vocab_size(), (kind == "bpe" ? 50 : 34) + 3);
    std::vector<int32_t> fox;
    tokenizer->Encode("the quick fox", 32, &fox);
    EXPECT_EQ(tokenizer->Decode(fox), "the quick fox");
    for (const auto& [text, pieces] : right[kind]["pieces"].items()) {
      std::vector<int32_t> ids;
      for (const int piece : pieces) ids.push_back(piece == right[kind]["unknown"] ? kUnknownToken : piece + 3);
      if (ids.empty()) ids.push_back(kUnknownToken);
      EXPECT_EQ(Encode(*tokenizer, text), ids) << kind << " " << text;
      ids.resize(1);
      EXPECT_EQ(Encode(*tokenizer, text, 1), ids);
    }
  }
  EXPECT_FALSE(Tokenizer::SentencePiece("").ok());
  EXPECT_FALSE(Tokenizer::SentencePiece("no model").ok());
}

TEST_F(DataTest, SentencePieceOfASpec) {
  DataSpec spec;
  spec.source = Write("a.txt", "the quick fox\n");
  spec.valid = "none";
  spec.tokenizer = "sentencepiece:" + TestData("bpe.model");
  const auto data = Load(spec);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->train.tokens, ElementsAre(8, 17, 16));  // pieces.json
  EXPECT_EQ(ProbeDataset(spec, 1).vocabulary, 53);
  spec.tokenizer = "sentencepiece:" + spec.source;
  EXPECT_THAT(LoadError(spec),
              ::testing::HasSubstr("training.data.tokenizer: " + spec.source + ": no SentencePiece model"));
  ASSERT_EQ(ProbeDataset(spec, 1).problems.size(), 1u);
  spec.tokenizer = "sentencepiece:" + folder_ + "/gone.model";
  EXPECT_EQ(ProbeDataset(spec, 1).problems.at(0).field, "training.data.tokenizer");
}

}  // namespace
}  // namespace ddp
