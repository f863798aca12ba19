#include "worker/checkpoint/zip.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "worker/checkpoint/testing.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

class ZipTest : public ::testing::Test {
 protected:
  absl::StatusOr<ZipReader> Open(const std::string& bytes) {
    fd_ = UniqueFd(open(folder_.Write("x.zip", bytes).c_str(), O_RDONLY | O_CLOEXEC));
    return ZipReader::Open(fd_.get());
  }
  std::string ErrorOf(const std::string& bytes) {
    const auto zip = Open(bytes);
    return zip.ok() ? "OK" : std::string(zip.status().message());
  }

  // An archive of one entry, by hand as APPNOTE.TXT describes it; every field can be wrong.
  struct Entry {
    std::string name = "a";
    std::string content = "hello";
    std::string inner_name = "a";
    uint16_t flags = 0;
    uint16_t method = 0;
    uint32_t crc = 0x3610a686;  // of "hello"
    uint32_t packed = 5;
    uint32_t bytes = 5;
    uint32_t at = 0;
    std::string extra;
  };
  static std::string Local(const Entry& e) {
    return Bytes<uint32_t>(0x04034b50) + Bytes<uint16_t>(20) + Bytes(e.flags) + Bytes(e.method) + Bytes<uint32_t>(0) +
           Bytes(e.crc) + Bytes(e.packed) + Bytes(e.bytes) + Bytes(static_cast<uint16_t>(e.inner_name.size())) +
           Bytes<uint16_t>(0) + e.inner_name + e.content;
  }
  static std::string Central(const Entry& e) {
    return Bytes<uint32_t>(0x02014b50) + Bytes<uint16_t>(20) + Bytes<uint16_t>(20) + Bytes(e.flags) + Bytes(e.method) +
           Bytes<uint32_t>(0) + Bytes(e.crc) + Bytes(e.packed) + Bytes(e.bytes) +
           Bytes(static_cast<uint16_t>(e.name.size())) + Bytes(static_cast<uint16_t>(e.extra.size())) +
           std::string(10, '\0') + Bytes(e.at) + e.name + e.extra;
  }
  static std::string End(size_t count, size_t bytes, size_t at, const std::string& comment = "") {
    return Bytes<uint32_t>(0x06054b50) + Bytes<uint32_t>(0) + Bytes(static_cast<uint16_t>(count)) +
           Bytes(static_cast<uint16_t>(count)) + Bytes(static_cast<uint32_t>(bytes)) +
           Bytes(static_cast<uint32_t>(at)) + Bytes(static_cast<uint16_t>(comment.size())) + comment;
  }
  static std::string Archive(const Entry& e) {
    const std::string local = Local(e);
    const std::string central = Central(e);
    return local + central + End(1, central.size(), local.size());
  }
  static std::string Deflate(const std::string& text) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }

  TestFolder folder_;
  UniqueFd fd_;
};

TEST_F(ZipTest, HandMadeArchive) {
  const auto zip = Open(Archive({}));
  ASSERT_TRUE(zip.ok()) << zip.status();
  ASSERT_NE(zip->Find("a"), nullptr);
  EXPECT_EQ(zip->Find("b"), nullptr);
  EXPECT_EQ(*zip->Read(*zip->Find("a"), 5), "hello");
  EXPECT_THAT(std::string(zip->Read(*zip->Find("a"), 4).status().message()),
              HasSubstr("has 5 bytes, at most 4 are read"));
}

TEST_F(ZipTest, ACommentMayFollow) {
  const std::string local = Local({});
  const std::string central = Central({});
  EXPECT_TRUE(Open(local + central + End(1, central.size(), local.size(), "by hand")).ok());
}

TEST_F(ZipTest, WrongEntries) {
  EXPECT_THAT(ErrorOf(Archive({.name = "../a", .inner_name = "../a"})), HasSubstr("leads out of the archive"));
  EXPECT_THAT(ErrorOf(Archive({.name = "x/../../a", .inner_name = "x/../../a"})), HasSubstr("leads out"));
  EXPECT_THAT(ErrorOf(Archive({.name = "/etc/x", .inner_name = "/etc/x"})), HasSubstr("leads out"));
  EXPECT_THAT(ErrorOf(Archive({.name = "x\\y", .inner_name = "x\\y"})), HasSubstr("leads out"));
  EXPECT_THAT(ErrorOf(Archive({.inner_name = "b"})), HasSubstr("another name or method in its header"));
  EXPECT_THAT(ErrorOf(Archive({.flags = 1})), HasSubstr("encrypted"));
  EXPECT_THAT(ErrorOf(Archive({.method = 12})), HasSubstr("packed by method 12"));
  EXPECT_THAT(ErrorOf(Archive({.packed = 4})), HasSubstr("two sizes"));
  EXPECT_THAT(ErrorOf(Archive({.packed = 50, .bytes = 50})), HasSubstr("outside of the file"));
  EXPECT_THAT(ErrorOf(Archive({.at = 3})), HasSubstr("no header where the directory says"));
  EXPECT_THAT(ErrorOf(Archive({.at = 4000})), HasSubstr("outside of the file"));
  const auto zip = Open(Archive({.crc = 1}));
  EXPECT_THAT(std::string(zip->Read(*zip->Find("a"), 100).status().message()), HasSubstr("CRC-32 differs"));
}

TEST_F(ZipTest, TwoEntriesMayNotShareBytes) {
  const std::string local = Local({});
  const std::string one = Central({});
  EXPECT_THAT(ErrorOf(local + one + one + End(2, 2 * one.size(), local.size())), HasSubstr("overlaps"));
  // The second begins inside of the first: the way to a bomb of overlapping entries.
  const std::string inner = Local({.name = "b", .inner_name = "b"});
  const auto size = static_cast<uint32_t>(inner.size());
  const Entry outer{.content = inner, .crc = ZipCrc(inner), .packed = size, .bytes = size};
  const std::string file = Local(outer);
  const std::string both = Central(outer) + Central({.name = "b", .inner_name = "b", .at = static_cast<uint32_t>(31)});
  EXPECT_THAT(ErrorOf(file + both + End(2, both.size(), file.size())), HasSubstr("overlaps"));
}

TEST_F(ZipTest, TheSameNameTwice) {
  const std::string local = Local({});
  const std::string both = Central({}) + Central({.at = static_cast<uint32_t>(local.size())});
  EXPECT_THAT(ErrorOf(local + local + both + End(2, both.size(), 2 * local.size())), HasSubstr("stands twice"));
}

TEST_F(ZipTest, DeflatedEntries) {
  const std::string text(100'000, 'z');
  const std::string packed = Deflate(text);
  Entry entry{.content = packed,
              .method = 8,
              .crc = ZipCrc(text),
              .packed = static_cast<uint32_t>(packed.size()),
              .bytes = static_cast<uint32_t>(text.size())};
  auto zip = Open(Archive(entry));
  ASSERT_TRUE(zip.ok()) << zip.status();
  EXPECT_EQ(*zip->Read(*zip->Find("a"), text.size()), text);
  // More or less than the directory says, or more than deflate can do.
  for (const uint32_t lie : {99'999u, 100'001u, 4'000'000'000u}) {
    entry.bytes = lie;
    zip = Open(Archive(entry));
    EXPECT_EQ(zip->Read(*zip->Find("a"), uint64_t{1} << 40).status().code(), absl::StatusCode::kInvalidArgument) << lie;
  }
}

TEST_F(ZipTest, EveryCutIsRefused) {
  const std::string whole = Archive({});
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(Open(whole.substr(0, n)).ok()) << n;
  EXPECT_FALSE(Open(whole + "x").ok());
}

TEST_F(ZipTest, DirectoriesThatLie) {
  const std::string local = Local({});
  const std::string central = Central({});
  EXPECT_THAT(ErrorOf(local + central + End(2, central.size(), local.size())), HasSubstr("more entries"));
  EXPECT_THAT(ErrorOf(local + central + End(0, central.size(), local.size())), HasSubstr("1 entries instead of 0"));
  EXPECT_THAT(ErrorOf(local + central + End(1, central.size(), local.size() + 40)), HasSubstr("outside"));
  EXPECT_THAT(ErrorOf(local + central + End(1, central.size() - 1, local.size())), HasSubstr("damaged directory"));
  EXPECT_THAT(ErrorOf("hello, this is no archive at all"), HasSubstr("without its directory"));
}

class ZipWriterTest : public ZipTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(ZipWriterTest, ReadsBackAndIsAligned) {
  StringSink sink;
  ZipWriter writer(sink, GetParam());
  const std::string big(1000, 'b');
  ASSERT_TRUE(writer.Add("archive/one", "1").ok());
  ASSERT_TRUE(writer.Add("archive/empty", "").ok());
  ASSERT_TRUE(writer.Begin("archive/big", big.size(), ZipCrc(big)).ok());
  ASSERT_TRUE(writer.Append(big.substr(0, 300)).ok());
  ASSERT_TRUE(writer.Append(big.substr(300)).ok());
  ASSERT_TRUE(writer.Finish().ok());
  const auto zip = Open(sink.text);
  ASSERT_TRUE(zip.ok()) << zip.status();
  ASSERT_EQ(zip->entries().size(), 3u);
  EXPECT_EQ(*zip->Read(*zip->Find("archive/one"), 10), "1");
  EXPECT_EQ(*zip->Read(*zip->Find("archive/empty"), 10), "");
  EXPECT_EQ(*zip->Read(*zip->Find("archive/big"), 1000), big);
  for (const auto& [name, entry] : zip->entries()) EXPECT_EQ(entry.data_at % 64, 0u) << name;
}

// All of it in 32 bits; everything in 64; only what is large or far.
INSTANTIATE_TEST_SUITE_P(Zip64From, ZipWriterTest, ::testing::Values(0xffffffff, 0, 500));

TEST(ZipCrcTest, KnownValue) { EXPECT_EQ(ZipCrc("123456789"), 0xcbf43926u); }

}  // namespace
}  // namespace ddp
