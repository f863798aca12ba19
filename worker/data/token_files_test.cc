#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "worker/data/testing.h"
#include "worker/data/token_windows.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::string Raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string Header(int32_t magic, int32_t version, int32_t count) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return Raw(header);
}

// 0, 7, 14, ... mod 50: what testdata/make.py wrote.
int32_t Id(int64_t i) { return static_cast<int32_t>(i * 7 % 50); }

class TokenFilesTest : public DataTest {
 protected:
  TokenFilesTest() {
    spec_.valid = "none";
    spec_.vocab_size = 50;
    spec_.max_tokens = 4;
  }
  static std::vector<int32_t> Window(const Split& split, int64_t index) {
    std::vector<int32_t> tokens(static_cast<size_t>(split.windows->window_tokens()) + 1);
    EXPECT_TRUE(split.windows->Read(index, tokens).ok());
    return tokens;
  }
  std::string ErrorOf(const std::string& bytes) {
    spec_.source = Write("a.bin", bytes);
    return LoadError(spec_);
  }
  DataSpec spec_;
};

// The numbers of one vocabulary mean nothing in another.
TEST_F(TokenFilesTest, TokenizersOfTextAndOfIdsAreNotMixed) {
  const Tokenizer ids = Tokenizer::Ids(50);
  const Tokenizer bytes = Tokenizer::Bytes();
  spec_.source = TestData("gpt2.bin");
  EXPECT_TRUE(LoadDataset(spec_, &ids, {}, nullptr).ok());
  const absl::Status of_text = LoadDataset(spec_, &bytes, {}, nullptr).status();
  EXPECT_EQ(of_text.message(), "training.init_from: its tokenizer is bytes, whose numbers are not those of " +
                                   spec_.source +
                                   ": name text as the data, or start from a job that was trained on token files");
  spec_.source = Write("a.txt", "some text\n");
  EXPECT_TRUE(LoadDataset(spec_, &bytes, {}, nullptr).ok());
  const absl::Status of_ids = LoadDataset(spec_, &ids, {}, nullptr).status();
  EXPECT_EQ(of_ids.message(), "training.init_from: it was trained on token files and cannot read the text of " +
                                  spec_.source +
                                  ": name a .bin file of tokens of the same vocabulary as the data, or start from a "
                                  "job that was trained on text");
}

TEST_F(TokenFilesTest, HeadersOfLlmC) {
  for (const char* name : {"gpt2.bin", "llama3.bin"}) {
    spec_.source = TestData(name);
    const auto data = Load(spec_);
    ASSERT_TRUE(data.ok()) << data.status();
    // 23 tokens: 5 windows of 4 and one token; 2 are left over.
    EXPECT_EQ(data->train.size(), 5);
    EXPECT_EQ(data->valid.size(), 0);
    EXPECT_EQ(data->tokenizer.vocab_size(), 50);
    for (int64_t w = 0; w < 5; ++w) {
      const std::vector<int32_t> window = Window(data->train, w);
      for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(window[static_cast<size_t>(i)], Id(4 * w + i));
    }
    const auto tokenizer = Tokenizer::FromJson(data->tokenizer.ToJson());
    ASSERT_TRUE(tokenizer.ok());
    EXPECT_EQ(tokenizer->vocab_size(), 50);
  }
  spec_.token_type = "uint16";
  EXPECT_THAT(LoadError(spec_), HasSubstr("training.data.token_type: "));
}

TEST_F(TokenFilesTest, RawFiles) {
  spec_.source = Write("a.bin", Raw(std::vector<uint16_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->train.size(), 2);
  EXPECT_THAT(Window(data->train, 0), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Window(data->train, 1), ElementsAre(5, 6, 7, 8, 9));
  spec_.token_type = "uint32";
  spec_.vocab_size = 100000;
  spec_.source = Write("a.bin", Raw(std::vector<uint32_t>{1, 2, 3, 4, 99999, 6, 7, 8}));
  data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->train.size(), 1);
  EXPECT_THAT(Window(data->train, 0), ElementsAre(1, 2, 3, 4, 99999));
}

TEST_F(TokenFilesTest, WrongFiles) {  // G10, G12
  EXPECT_THAT(ErrorOf("abc"), HasSubstr("3 bytes are no whole number of uint16 tokens"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("holds 0 tokens"));
  EXPECT_THAT(ErrorOf(Raw(std::vector<uint16_t>{1, 2, 3, 4})), HasSubstr("holds 4 tokens; a window of max_tokens 4"));
  EXPECT_EQ(ErrorOf(Raw(std::vector<uint16_t>{1, 2, 3, 50, 5})),
            "training.data.source: " + spec_.source +
                ": byte 6: token 50 is outside the vocabulary of 50 (training.data.vocab_size, token_type)");
  EXPECT_THAT(ErrorOf(Header(20240520, 1, 6) + Raw(std::vector<uint16_t>{1, 2, 3, 4, 5})),
              HasSubstr("byte 8: the header says 6 tokens of uint16, but 10 bytes follow it"));
  EXPECT_THAT(ErrorOf(Header(20240520, -1, 5) + Raw(std::vector<uint16_t>{1, 2, 3, 4, 5})),
              HasSubstr("byte 4: version -1"));
  EXPECT_THAT(ErrorOf(Header(20240801, 1, 5) + std::string(20, '\1')), HasSubstr("known is version 7"));
  EXPECT_THAT(ErrorOf(Header(12345, 1, 5) + std::string(10, '\0')),
              HasSubstr("byte 0: a header with the unknown magic 12345"));
  EXPECT_THAT(ErrorOf(Header(20240522, 1, 0)), HasSubstr("multiple-choice questions, no tokens"));
  spec_.vocab_size = 119547;
  EXPECT_THAT(ErrorOf(Raw(std::vector<uint16_t>{1, 2, 3, 4, 5})),
              HasSubstr("training.data.token_type: " + spec_.source +
                        ": tokens of uint16 cannot come from a vocabulary of 119547 (at most 65536"));
  spec_.vocab_size = 65536;
  EXPECT_EQ(ErrorOf(Raw(std::vector<uint16_t>{1, 2, 3, 4, 65535})), "OK");
  spec_.label_kind = LabelKind::kClass;
  EXPECT_THAT(LoadError(spec_), HasSubstr("training.objective: needs labels"));
}

TEST_F(TokenFilesTest, HeldOutChunks) {
  for (const int64_t windows : {1, 2, 3, 10, 1023, 1024, 1025, 2047, 2048, 5000, 1'000'000'007}) {
    const WindowDivision division = DivideWindows(windows, 0.1);
    EXPECT_LE(division.train.size() + division.valid.size(), 2048u);
    // Each window is on one side.
    std::vector<WindowRange> all = division.train;
    all.insert(all.end(), division.valid.begin(), division.valid.end());
    std::sort(all.begin(), all.end(), [](const WindowRange& a, const WindowRange& b) { return a.first < b.first; });
    int64_t at = 0;
    for (const WindowRange& range : all) {
      EXPECT_EQ(range.first, at);
      EXPECT_GT(range.count, 0);
      at += range.count;
    }
    EXPECT_EQ(at, windows);
    EXPECT_FALSE(division.train.empty());
    EXPECT_EQ(division.valid.empty(), windows == 1);
    // Four standard deviations of 1,024 or more draws.
    int64_t held = 0;
    for (const WindowRange& range : division.valid) held += range.count;
    if (windows >= 1024) {
      EXPECT_NEAR(static_cast<double>(held) / static_cast<double>(windows), 0.1, 4 * 0.3 / 32);
    }
  }
  EXPECT_EQ(DivideWindows(100, 1e-9).valid.size(), 1u);
  EXPECT_EQ(DivideWindows(100, 1 - 1e-9).train.size(), 1u);
}

TEST_F(TokenFilesTest, HeldOutWindowsAndLimit) {
  std::vector<uint16_t> ids;
  for (int i = 0; i < 201; ++i) ids.push_back(static_cast<uint16_t>(i % 50));
  spec_.source = Write("a.bin", Raw(ids));
  spec_.max_tokens = 1;
  spec_.valid = "";
  const auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train.size() + data->valid.size(), 200);
  EXPECT_GT(data->valid.size(), 0);
  spec_.limit = 3;
  const auto limited = Load(spec_);
  EXPECT_EQ(limited->train.size(), 3);
  EXPECT_EQ(limited->valid.size(), data->valid.size());
  EXPECT_EQ(Window(limited->train, 2), Window(data->train, 2));
  EXPECT_NE(limited->fingerprint, data->fingerprint);
  EXPECT_EQ(Load(spec_)->fingerprint, limited->fingerprint);
  std::vector<int32_t> tokens(2);
  EXPECT_FALSE(limited->train.windows->Read(3, tokens).ok());
  // A second file.
  spec_.valid = Write("b.bin", Raw(std::vector<uint16_t>{9, 8, 7}));
  const auto two = Load(spec_);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(two->valid.size(), 2);
  EXPECT_THAT(Window(two->valid, 1), ElementsAre(8, 7));
  Write("b.bin", Raw(std::vector<uint16_t>{9, 8, 6}));
  EXPECT_NE(Load(spec_)->fingerprint, two->fingerprint);
}

// Resident and anonymous memory of this process, in KiB.
int64_t ResidentKib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    int64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return -1;
}

TEST_F(TokenFilesTest, LargerThanMemory) {  // G10
  // 5 GB without a block on the disk, with tokens 3 2 1 at the end: behind byte 2^32.
  const std::string path = folder_ + "/large.bin";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  const int64_t bytes = 5'000'000'000;
  const std::vector<uint16_t> end{3, 2, 1};
  ASSERT_EQ(pwrite(fd, end.data(), 6, bytes - 6), 6);
  close(fd);
  spec_.source = path;
  spec_.max_tokens = 1024;
  const int64_t before = ResidentKib();
  EXPECT_TRUE(ProbeDataset(spec_, 1'000'000).complete);
  const auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  const int64_t windows = (bytes / 2 - 1) / 1024;
  EXPECT_EQ(data->train.size(), windows);
  EXPECT_EQ(Window(data->train, windows - 1)[0], 0);
  spec_.max_tokens = 1;
  spec_.vocab_size = 3;
  EXPECT_THAT(LoadError(spec_), HasSubstr("training.data.max_tokens: "));  // 2.5e9 windows
  spec_.max_tokens = 2;
  const auto pairs = Load(spec_);
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  // 2,500,000,000 tokens: the last window is the tokens 2,499,999,996 to -8.
  EXPECT_EQ(pairs->train.size(), 1'249'999'999);
  std::vector<int32_t> tokens(3);
  EXPECT_EQ(pairs->train.windows->Read(1'249'999'998, tokens).message(),
            path + ": byte 4999999994: token 3 is outside the vocabulary of 3 (training.data.vocab_size, token_type)");
  EXPECT_LT(ResidentKib() - before, 20'000);
}

}  // namespace
}  // namespace ddp
