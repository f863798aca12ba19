#include "worker/data/token_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "worker/data/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;

class TokenCacheTest : public DataTest {
 protected:
  TokenCacheTest() : cache_(folder_ + "/cache") {
    spec_.source = Write("a.csv", "text,label\nred fox,a\nred rose,b\nold oak,b\ngrey wolf,a\n");
    spec_.valid = Write("b.csv", "text,label\nred oak,b\n");
    spec_.text_column = "text";
    spec_.label_column = "label";
    spec_.label_kind = LabelKind::kClass;
  }
  absl::StatusOr<Dataset> LoadCached() const { return LoadDataset(spec_, nullptr, {}, nullptr, cache_); }
  std::string Entry() const { return TokenCache(cache_, spec_, nullptr, {}).path(); }
  bool IsKept() const { return TokenCache(cache_, spec_, nullptr, {}).Find().has_value(); }
  size_t Files() const {
    size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(cache_)) n += entry.is_regular_file() ? 1 : 0;
    return n;
  }
  static void ExpectEqual(const Dataset& a, const Dataset& b) {
    for (const auto& [x, y] : {std::pair{&a.train, &b.train}, {&a.valid, &b.valid}}) {
      EXPECT_EQ(x->tokens, y->tokens);
      EXPECT_EQ(x->token_offsets, y->token_offsets);
      EXPECT_EQ(x->classes, y->classes);
      EXPECT_EQ(x->numbers, y->numbers);
      EXPECT_EQ(x->sample_hash, y->sample_hash);
    }
    EXPECT_EQ(a.class_names, b.class_names);
    EXPECT_EQ(a.fingerprint, b.fingerprint);
    EXPECT_EQ(a.tokenizer.ToJson(), b.tokenizer.ToJson());
  }
  std::string cache_;
  DataSpec spec_;
};

TEST_F(TokenCacheTest, SecondLoadIsTheFirst) {
  const auto plain = Load(spec_);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_FALSE(IsKept());
  const auto first = LoadCached();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(IsKept());
  const auto second = LoadCached();
  ASSERT_TRUE(second.ok()) << second.status();
  ExpectEqual(*plain, *first);
  ExpectEqual(*plain, *second);
  EXPECT_EQ(Files(), 1u);
  // The entry may go while it is used.
  std::filesystem::remove_all(cache_);
  ExpectEqual(*plain, *second);
}

TEST_F(TokenCacheTest, WhatMattersIsInTheKey) {
  const std::string entry = Entry();
  const auto other = [&](auto change) {
    DataSpec spec = spec_;
    change(spec);
    return TokenCache(cache_, spec, nullptr, {}).path() != entry;
  };
  EXPECT_TRUE(other([](DataSpec& s) { s.max_tokens = 2; }));
  EXPECT_TRUE(other([](DataSpec& s) { s.vocab_size = 8; }));
  EXPECT_TRUE(other([](DataSpec& s) { s.limit = 2; }));
  EXPECT_TRUE(other([](DataSpec& s) { s.valid = "none"; }));
  EXPECT_TRUE(other([](DataSpec& s) { s.valid_fraction = 0.2; }));
  EXPECT_TRUE(other([](DataSpec& s) { s.tokenizer = "bytes"; }));
  EXPECT_TRUE(other([](DataSpec& s) { s.label_kind = LabelKind::kNone; }));
  const Tokenizer bytes = Tokenizer::Bytes();
  EXPECT_NE(TokenCache(cache_, spec_, &bytes, {}).path(), entry);
  EXPECT_NE(TokenCache(cache_, spec_, nullptr, {"a", "b"}).path(), entry);
  ASSERT_EQ(Entry(), entry);
  Write("b.csv", "text,label\nred oat,b\n");  // one letter
  EXPECT_NE(Entry(), entry);
}

TEST_F(TokenCacheTest, ChangedDataIsReadAgain) {
  const std::string before = LoadCached()->fingerprint;
  Write("a.csv", "text,label\nred fix,a\nred rose,b\nold oak,b\ngrey wolf,a\n");
  const auto data = LoadCached();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->fingerprint, Load(spec_)->fingerprint);
  EXPECT_NE(data->fingerprint, before);
}

TEST_F(TokenCacheTest, DamageIsSeenAndMended) {
  const auto right = LoadCached();
  ASSERT_TRUE(right.ok());
  const auto size = std::filesystem::file_size(Entry());
  for (size_t at = 0; at < size; at += 3) {
    {
      std::fstream file(Entry(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const int byte = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 1));
    }
    ASSERT_FALSE(IsKept()) << at;
    const auto again = LoadCached();
    ASSERT_TRUE(again.ok());
    ExpectEqual(*right, *again);
    ASSERT_TRUE(IsKept()) << at;
  }
  for (size_t n = 0; n < size; n += 5) {
    std::filesystem::resize_file(Entry(), n);
    ASSERT_FALSE(IsKept()) << n;
    ASSERT_TRUE(LoadCached().ok());
  }
  EXPECT_TRUE(IsKept());
}

TEST_F(TokenCacheTest, AFolderThatCannotBeUsedCostsOnlyTheCache) {
  cache_ = Write("file", "") + "/cache";
  EXPECT_TRUE(LoadCached().ok());
  EXPECT_FALSE(IsKept());
  // No room: writing beyond 100 bytes fails with EFBIG.
  cache_ = folder_ + "/full";
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{100, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const bool loaded = LoadCached().ok();
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_TRUE(loaded);
  EXPECT_EQ(Files(), 0u);
}

TEST_F(TokenCacheTest, TheLeastRecentlyUsedGo) {
  const int kMore = static_cast<int>(TokenCache::kEntries) + 4;
  const auto set_age = [&](const std::string& path, int seconds) {
    std::filesystem::last_write_time(path,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::seconds(seconds));
  };
  std::vector<std::string> entries;
  for (int i = 0; i < kMore; ++i) {
    spec_.max_tokens = 1 + i;
    ASSERT_TRUE(LoadCached().ok());
    entries.push_back(Entry());
    set_age(entries.back(), 1000 - i);
    if (i == 9) {
      spec_.max_tokens = 1;
      ASSERT_TRUE(LoadCached().ok());  // used again: young
    }
  }
  Write("cache/notes.txt", "mine");
  Write("cache/" + std::string(32, 'a') + ".tokens-new-1", "of a writer that died");
  set_age(cache_ + "/" + std::string(32, 'a') + ".tokens-new-1", 7200);
  spec_.max_tokens = 100;
  ASSERT_TRUE(LoadCached().ok());
  EXPECT_EQ(Files(), TokenCache::kEntries + 1);  // and notes.txt
  EXPECT_TRUE(std::filesystem::exists(cache_ + "/notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(entries[0]));
  EXPECT_FALSE(std::filesystem::exists(entries[1]));
  EXPECT_TRUE(std::filesystem::exists(entries.back()));
}

TEST_F(TokenCacheTest, SeveralAtOnce) {
  const auto right = Load(spec_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto data = LoadCached();
        ASSERT_TRUE(data.ok()) << data.status();
        ASSERT_EQ(data->train.tokens, right->train.tokens);
        if (i % 10 == 0) std::filesystem::remove(Entry());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TokenCacheTest, NumbersAreNotKept) {
  spec_.text_column = "";
  spec_.feature_columns = {"x"};
  spec_.source = Write("n.csv", "x\n1\n");
  spec_.valid = "none";
  spec_.label_kind = LabelKind::kNone;
  EXPECT_EQ(Entry(), "");
  EXPECT_TRUE(LoadCached().ok());
}

}  // namespace
}  // namespace ddp
