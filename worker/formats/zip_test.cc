#include "worker/formats/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "absl/strings/escaping.h"
#include "worker/formats/little_endian.h"
#include "worker/formats/testing.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

// Python's zipfile: s.txt stored, d.txt deflated ("ab" 50 times), z64 with a zip64 field ("z").
constexpr char kArchive[] =
    "504b0304140000000000000021000bf94356060000000600000005000000732e74787473746f726564504b0304140000000800000021002c2f"
    "f45d070000006400000005000000642e7478744b4c4aa4390400504b03042d000000000000002100af77d262ffffffffffffffff0300140"
    "07a363401001000010000000000000001000000000000007a504b01021403140000000000000021000bf9435606000000060000000500000"
    "00000000000000000800100000000732e747874504b01021403140000000800000021002c2ff45d070000006400000005000000000000000"
    "0000000800129000000642e747874504b01022d032d000000000000002100af77d262010000000100000003000000000000000000000080"
    "01530000007a3634504b0506000000000300030097000000890000000000";

class ZipTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kAll = ~uint64_t{0};

  absl::StatusOr<ZipReader> Open(const std::string& bytes) { return ZipReader::Open(folder_.Write("x.zip", bytes)); }
  // The first error, of opening or of reading any entry.
  std::string ErrorOf(const std::string& bytes) {
    const auto zip = Open(bytes);
    if (!zip.ok()) return std::string(zip.status().message());
    for (const auto& [name, entry] : zip->entries()) {
      const auto content = zip->Read(entry, kAll);
      if (!content.ok()) return std::string(content.status().message());
    }
    return "OK";
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
    return LittleEndian<uint32_t>(0x04034b50) + LittleEndian<uint16_t>(20) + LittleEndian(e.flags) +
           LittleEndian(e.method) + LittleEndian<uint32_t>(0) + LittleEndian(e.crc) + LittleEndian(e.packed) +
           LittleEndian(e.bytes) + LittleEndian(static_cast<uint16_t>(e.inner_name.size())) +
           LittleEndian<uint16_t>(0) + e.inner_name + e.content;
  }
  static std::string Central(const Entry& e) {
    return LittleEndian<uint32_t>(0x02014b50) + LittleEndian<uint16_t>(20) + LittleEndian<uint16_t>(20) +
           LittleEndian(e.flags) + LittleEndian(e.method) + LittleEndian<uint32_t>(0) + LittleEndian(e.crc) +
           LittleEndian(e.packed) + LittleEndian(e.bytes) + LittleEndian(static_cast<uint16_t>(e.name.size())) +
           LittleEndian(static_cast<uint16_t>(e.extra.size())) + std::string(10, '\0') + LittleEndian(e.at) + e.name +
           e.extra;
  }
  static std::string End(size_t count, size_t bytes, size_t at, const std::string& comment = "") {
    return LittleEndian<uint32_t>(0x06054b50) + LittleEndian<uint32_t>(0) + LittleEndian(static_cast<uint16_t>(count)) +
           LittleEndian(static_cast<uint16_t>(count)) + LittleEndian(static_cast<uint32_t>(bytes)) +
           LittleEndian(static_cast<uint32_t>(at)) + LittleEndian(static_cast<uint16_t>(comment.size())) + comment;
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
};

TEST_F(ZipTest, HandMadeArchive) {
  const auto zip = Open(Archive({}));
  ASSERT_TRUE(zip.ok()) << zip.status();
  ASSERT_NE(zip->Find("a"), nullptr);
  EXPECT_EQ(zip->Find("b"), nullptr);
  EXPECT_EQ(*zip->Read(*zip->Find("a"), 5), "hello");
  EXPECT_THAT(std::string(zip->Read(*zip->Find("a"), 4).status().message()),
              HasSubstr("x.zip: byte 31: the entry \"a\" has 5 bytes, at most 4 are read"));
}

TEST_F(ZipTest, ReadsWhatPythonWrote) {
  const std::string bytes = absl::HexStringToBytes(kArchive);
  ASSERT_EQ(bytes.size(), 310u);
  const auto zip = Open(bytes);
  ASSERT_TRUE(zip.ok()) << zip.status();
  ASSERT_EQ(zip->entries().size(), 3u);
  EXPECT_EQ(zip->file_bytes(), 310u);
  EXPECT_EQ(*zip->Read(*zip->Find("s.txt"), kAll), "stored");
  std::string ab;
  for (int i = 0; i < 50; ++i) ab += "ab";
  EXPECT_EQ(*zip->Read(*zip->Find("d.txt"), kAll), ab);
  EXPECT_EQ(*zip->Read(*zip->Find("z64"), kAll), "z");
}

TEST_F(ZipTest, Heads) {
  const auto zip = Open(absl::HexStringToBytes(kArchive));
  ASSERT_TRUE(zip.ok()) << zip.status();
  EXPECT_EQ(*zip->ReadHead(*zip->Find("d.txt"), 5), "ababa");
  EXPECT_EQ(*zip->ReadHead(*zip->Find("s.txt"), 2), "st");
  EXPECT_EQ(*zip->ReadHead(*zip->Find("s.txt"), 0), "");
  EXPECT_EQ(*zip->ReadHead(*zip->Find("s.txt"), kAll), "stored");
  // Not the whole content, so its checksum cannot be compared; of the whole it is.
  const auto damaged = Open(Archive({.crc = 1}));
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  EXPECT_EQ(*damaged->ReadHead(*damaged->Find("a"), 4), "hell");
  EXPECT_FALSE(damaged->ReadHead(*damaged->Find("a"), 5).ok());
}

// Central records of the archive begin at bytes 137 and 188, the end record at 288.
TEST_F(ZipTest, DamageOfWhatPythonWrote) {
  const auto changed = [](size_t at, char byte) {
    std::string bytes = absl::HexStringToBytes(kArchive);
    bytes[at] = byte;
    return bytes;
  };
  EXPECT_THAT(ErrorOf(changed(36, 'S')), HasSubstr("byte 35: the entry \"s.txt\" is damaged: its CRC-32 differs"));
  EXPECT_THAT(ErrorOf(changed(76, '\xff')), HasSubstr("byte 76: the entry \"d.txt\" does not unpack"));
  EXPECT_THAT(ErrorOf(changed(137 + 24, 7)), HasSubstr("byte 137: the entry \"s.txt\" is stored, but has two sizes"));
  EXPECT_THAT(ErrorOf(changed(137 + 8, 1)), HasSubstr("byte 137: the entry \"s.txt\" is encrypted"));
  EXPECT_THAT(ErrorOf(changed(188 + 10, 12)), HasSubstr("byte 188: the entry \"d.txt\" is packed by method 12"));
  EXPECT_THAT(ErrorOf(changed(288 + 10, 2)), HasSubstr("byte 137: the directory holds 3 entries instead of 2"));
}

// The two sizes are all ones and the true ones stand in an extra field, which is missing or too short.
TEST_F(ZipTest, Zip64WithoutItsField) {
  const uint32_t in64 = 0xffffffff;
  EXPECT_THAT(ErrorOf(Archive({.packed = in64, .bytes = in64})), HasSubstr("has a damaged zip64 field"));
  const std::string half = LittleEndian<uint16_t>(1) + LittleEndian<uint16_t>(8) + LittleEndian<uint64_t>(5);
  EXPECT_THAT(ErrorOf(Archive({.packed = in64, .bytes = in64, .extra = half})), HasSubstr("damaged zip64 field"));
  const std::string whole =
      LittleEndian<uint16_t>(1) + LittleEndian<uint16_t>(16) + LittleEndian<uint64_t>(5) + LittleEndian<uint64_t>(5);
  EXPECT_EQ(ErrorOf(Archive({.packed = in64, .bytes = in64, .extra = whole})), "OK");
}

TEST_F(ZipTest, OtherThanRegularFiles) {
  EXPECT_EQ(ZipReader::Open(folder_.path() + "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ZipReader::Open("/dev/zero").status().message()), HasSubstr("not a regular file"));
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
  EXPECT_THAT(ErrorOf(Archive({.crc = 1})), HasSubstr("CRC-32 differs"));
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
    EXPECT_EQ(zip->Read(*zip->Find("a"), kAll).status().code(), absl::StatusCode::kInvalidArgument) << lie;
  }
}

TEST_F(ZipTest, EveryCutIsRefused) {
  const std::string whole = Archive({});
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(Open(whole.substr(0, n)).ok()) << n;
  EXPECT_FALSE(Open(whole + "x").ok());
  const std::string python = absl::HexStringToBytes(kArchive);
  for (size_t n = 0; n < python.size(); ++n) EXPECT_FALSE(Open(python.substr(0, n)).ok()) << n;
}

TEST_F(ZipTest, DirectoriesThatLie) {
  const std::string local = Local({});
  const std::string central = Central({});
  EXPECT_THAT(ErrorOf(local + central + End(2, central.size(), local.size())), HasSubstr("more entries"));
  EXPECT_THAT(ErrorOf(local + central + End(0, central.size(), local.size())), HasSubstr("1 entries instead of 0"));
  EXPECT_THAT(ErrorOf(local + central + End(1, central.size(), local.size() + 40)), HasSubstr("outside"));
  EXPECT_THAT(ErrorOf(local + central + End(1, central.size() - 1, local.size())), HasSubstr("damaged directory"));
  EXPECT_THAT(ErrorOf("hello, this is no archive at all"), HasSubstr("no zip archive: its directory is missing"));
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
