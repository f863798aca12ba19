#include "worker/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

namespace ddp {
namespace {

using ::testing::HasSubstr;

class SafetensorsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& bytes) {
    const std::string path = ::testing::TempDir() + "/safetensors_test.safetensors";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }
  // A file with this header, however wrong, and n data bytes.
  std::string WithHeader(const std::string& header, size_t n) {
    const uint64_t length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return Write(bytes + header + std::string(n, 'x'));
  }
  std::string ErrorOf(const std::string& path) {
    const auto file = SafetensorsFile::Open(path);
    return file.ok() ? "OK" : std::string(file.status().message());
  }
};

TEST_F(SafetensorsTest, RoundTrip) {
  const float a[] = {1, 2, 3, 4, 5, 6};
  const float b[] = {-7};
  const std::vector<TensorBytes> tensors{{"a", "F32", {2, 3}, a, sizeof(a)}, {"b.c", "F32", {}, b, sizeof(b)}};
  const std::string header = SafetensorsHeader(tensors, {{"format", "pt"}});
  EXPECT_EQ(header.size() % 8, 0u);
  const std::string path = Write(header + std::string(reinterpret_cast<const char*>(a), sizeof(a)) +
                                 std::string(reinterpret_cast<const char*>(b), sizeof(b)));
  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata().at("format"), "pt");
  ASSERT_EQ(file->tensors().size(), 2u);
  const TensorInfo* info = file->Find("a");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->shape, (std::vector<int64_t>{2, 3}));
  float read[6] = {};
  ASSERT_TRUE(file->Read(*info, read).ok());
  EXPECT_EQ(std::memcmp(read, a, sizeof(a)), 0);
  ASSERT_TRUE(file->Read(*file->Find("b.c"), read).ok());
  EXPECT_EQ(read[0], -7);
  EXPECT_EQ(file->Find("none"), nullptr);
}

TEST_F(SafetensorsTest, EveryCutIsRefused) {
  const float a[] = {1, 2};
  const std::string whole = SafetensorsHeader({{"a", "F32", {2}, a, 8}}, {}) + std::string(8, 'x');
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(SafetensorsFile::Open(Write(whole.substr(0, n))).ok()) << n;
  }
  EXPECT_THAT(ErrorOf(Write(whole + "y")), HasSubstr("1 bytes follow the last tensor"));
}

TEST_F(SafetensorsTest, WrongHeaders) {
  EXPECT_THAT(ErrorOf(WithHeader("[]", 0)), HasSubstr("byte 8: the header is no JSON object"));
  EXPECT_THAT(ErrorOf(WithHeader(R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4)),
              HasSubstr("unknown dtype F31"));
  EXPECT_THAT(ErrorOf(WithHeader(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4)),
              HasSubstr("shape and dtype need 8 bytes, data_offsets give 4"));
  EXPECT_THAT(ErrorOf(WithHeader(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 4)),
              HasSubstr("lie outside"));
  EXPECT_THAT(ErrorOf(WithHeader(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4)),
              HasSubstr("no natural number"));
  EXPECT_THAT(ErrorOf(WithHeader(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4)),
              HasSubstr("too large"));
  EXPECT_THAT(
      ErrorOf(WithHeader(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
          3)),
      HasSubstr("a hole or an overlap at tensor \"b\""));
  EXPECT_THAT(
      ErrorOf(WithHeader(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          1)),
      HasSubstr("stands twice"));
  EXPECT_THAT(
      ErrorOf(WithHeader(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
          12)),
      HasSubstr("a hole or an overlap at tensor \"b\""));
  EXPECT_THAT(ErrorOf(WithHeader(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1)),
              HasSubstr("tensor \"a\""));
  EXPECT_THAT(ErrorOf(WithHeader(R"({"a":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})", 4)),
              HasSubstr("tensor \"a\": shape and dtype need 4000000 bytes"));
  EXPECT_THAT(ErrorOf("/nowhere/x.safetensors"), HasSubstr("cannot open /nowhere/x.safetensors: No such file"));
}

TEST_F(SafetensorsTest, EmptyTensorsAndAnyOrder) {
  EXPECT_EQ(
      ErrorOf(WithHeader(
          R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]},"b":{"dtype":"F32","shape":[0],"data_offsets":[5,5]}})",
          5)),
      "OK");
  EXPECT_EQ(
      ErrorOf(WithHeader(
          R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          3)),
      "OK");
}

}  // namespace
}  // namespace ddp
