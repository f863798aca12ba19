#include "worker/formats/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/escaping.h"

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
  ZipTest() : bytes_(absl::HexStringToBytes(kArchive)) {}
  absl::StatusOr<ZipFile> Open(const std::string& bytes) {
    const std::string path = ::testing::TempDir() + "/zip_test.zip";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return ZipFile::Open(path);
  }
  // The first error, of opening or of reading any member.
  std::string ErrorOf(const std::string& bytes) {
    const auto zip = Open(bytes);
    if (!zip.ok()) return std::string(zip.status().message());
    for (const ZipMember& member : zip->members()) {
      const auto content = zip->Read(member);
      if (!content.ok()) return std::string(content.status().message());
    }
    return "OK";
  }
  std::string Changed(size_t at, char byte) {
    std::string bytes = bytes_;
    bytes[at] = byte;
    return bytes;
  }
  std::string bytes_;
};

TEST_F(ZipTest, ReadsWhatPythonWrote) {
  ASSERT_EQ(bytes_.size(), 310u);
  const auto zip = Open(bytes_);
  ASSERT_TRUE(zip.ok()) << zip.status();
  ASSERT_EQ(zip->members().size(), 3u);
  EXPECT_EQ(*zip->Read(*zip->Find("s.txt")), "stored");
  std::string ab;
  for (int i = 0; i < 50; ++i) ab += "ab";
  EXPECT_EQ(*zip->Read(*zip->Find("d.txt")), ab);
  EXPECT_EQ(*zip->Read(*zip->Find("d.txt"), 5), "ababa");
  EXPECT_EQ(*zip->Read(*zip->Find("z64")), "z");
  EXPECT_EQ(zip->Find("none"), nullptr);
  EXPECT_EQ(ErrorOf(bytes_), "OK");
}

TEST_F(ZipTest, EveryCutIsRefused) {
  for (size_t n = 0; n < bytes_.size(); ++n) EXPECT_NE(ErrorOf(bytes_.substr(0, n)), "OK") << n;
  EXPECT_THAT(ErrorOf("<html>"), HasSubstr("no zip archive"));
}

TEST_F(ZipTest, Damage) {
  EXPECT_THAT(ErrorOf(Changed(36, 'S')), HasSubstr("the checksum of \"s.txt\" is wrong"));  // a stored byte
  EXPECT_THAT(ErrorOf(Changed(76, '\xff')), HasSubstr("\"d.txt\" is damaged"));             // a deflated one
  EXPECT_THAT(ErrorOf(Changed(137 + 24, 7)), HasSubstr("stored, but 6 bytes are to become 7"));
  EXPECT_THAT(ErrorOf(Changed(137 + 8, 1)), HasSubstr("encrypted"));
  EXPECT_THAT(ErrorOf(Changed(137 + 10, 12)), HasSubstr("method 12"));
  EXPECT_THAT(ErrorOf(Changed(288 + 10, 2)), HasSubstr("3 entries, the end record says 2"));
}

}  // namespace
}  // namespace ddp
