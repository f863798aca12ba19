#include "worker/checkpoint/pt_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/formats/little_endian.h"
#include "worker/formats/testing.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

class PtFileTest : public ::testing::Test {
 protected:
  std::string ErrorOf(const std::string& bytes) {
    const auto file = PtFile::Open(folder_.Write("x.pt", bytes));
    return file.ok() ? "OK" : std::string(file.status().message());
  }
  // A .pt of the tensors a = [1, 2, 3] (float) and b = [[7]] (int64), written by us.
  std::string Sample() {
    const float a[] = {1, 2, 3};
    const int64_t b[] = {7};
    const std::vector<TensorBytes> tensors{{"a", "F32", {3}, a, 12}, {"b", "I64", {1, 1}, b, 8}};
    const std::string path =
        folder_.Write("x.safetensors", SafetensorsHeader(tensors, {}) + LittleEndian(a[0]) + LittleEndian(a[1]) +
                                           LittleEndian(a[2]) + LittleEndian(b[0]));
    StringSink sink;
    const absl::Status status = WritePt(*SafetensorsFile::Open(path), sink);
    EXPECT_TRUE(status.ok()) << status;
    return sink.text;
  }
  // An archive with this pickle and one storage of 8 zero bytes.
  static std::string WithPickle(const std::string& pickle, size_t storage = 8) {
    StringSink sink;
    ZipWriter zip(sink);
    zip.Add("archive/data.pkl", pickle).IgnoreError();
    zip.Add("archive/data/0", std::string(storage, '\0')).IgnoreError();
    zip.Finish().IgnoreError();
    return sink.text;
  }
  static std::string Floats(int32_t elements, const std::vector<int64_t>& shape) {
    return WriteStateDict(
        {TensorInfo{.name = "a", .dtype = "F32", .shape = shape, .bytes = static_cast<size_t>(elements) * 4}});
  }

  TestFolder folder_;
};

TEST_F(PtFileTest, WhatWeWriteReadsBack) {
  auto file = PtFile::Open(folder_.Write("x.pt", Sample()));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(*file->Read(file->tensors()[0]), LittleEndian(1.0f) + LittleEndian(2.0f) + LittleEndian(3.0f));
  EXPECT_EQ(file->tensors()[1].dtype, "I64");
  EXPECT_EQ(*file->Read(file->tensors()[1]), LittleEndian(int64_t{7}));
}

TEST_F(PtFileTest, ViewsAreMadeContiguous) {
  StoredTensor view{
      .name = "v", .dtype = "F32", .shape = {2}, .strides = {2}, .storage = "0", .storage_bytes = 12, .bytes = 8};
  auto file = PtFile::Open(folder_.Write("x.pt", Sample()));
  EXPECT_EQ(*file->Read(view), LittleEndian(1.0f) + LittleEndian(3.0f));
  view.offset = 2;
  view.strides = {0};
  EXPECT_EQ(*file->Read(view), LittleEndian(3.0f) + LittleEndian(3.0f));
}

TEST_F(PtFileTest, EveryFlippedBitOfAStorageIsFound) {
  const std::string good = Sample();
  const std::string path = folder_.path() + "/x.pt";
  ASSERT_EQ(ErrorOf(good), "OK");
  const size_t at = good.find(LittleEndian(1.0f) + LittleEndian(2.0f));
  ASSERT_NE(at, std::string::npos);
  for (size_t bit = 0; bit < 12 * 8; ++bit) {
    std::string bytes = good;
    bytes[at + bit / 8] = static_cast<char>(bytes[at + bit / 8] ^ (1 << bit % 8));
    auto file = PtFile::Open(folder_.Write("x.pt", bytes));
    ASSERT_TRUE(file.ok());
    EXPECT_THAT(std::string(file->Read(file->tensors()[0]).status().message()), HasSubstr("CRC-32 differs")) << bit;
  }
}

TEST_F(PtFileTest, StoragesThatAreNotThere) {
  EXPECT_EQ(ErrorOf(WithPickle(Floats(2, {2}))), "OK");
  EXPECT_THAT(ErrorOf(WithPickle(Floats(3, {3}))), HasSubstr("has 8 bytes instead of 12"));
  std::string other = Floats(2, {2});
  other.replace(other.find(std::string("X\x01\0\0\0", 5) + "0"), 6, std::string("X\x01\0\0\0", 5) + "7");
  EXPECT_THAT(ErrorOf(WithPickle(other)), HasSubstr("tensor \"a\": no entry data/7"));
}

TEST_F(PtFileTest, AnExpandedTensorIsNoBomb) {
  // 2^31 floats out of 8 bytes.
  std::string pickle = "\x80\x02}X\x01" + std::string(3, '\0') + "actorch._utils\n_rebuild_tensor_v2\n((";
  pickle += "X\x07" + std::string(3, '\0') + "storagectorch\nFloatStorage\nX\x01" + std::string(3, '\0') + "0";
  pickle += "X\x03" + std::string(3, '\0') + "cpuK\x02tQK";
  pickle += std::string(1, '\0') + "(J" + LittleEndian(int32_t{1 << 30}) + "K\x02t(K" + std::string(1, '\0') +
            "K\x01t\x89}tRs.";
  EXPECT_THAT(ErrorOf(WithPickle(pickle)), HasSubstr("times those of the file; refused"));
}

// 4 bytes of a storage that unpacks to 80 MiB: 64 MiB and 16 times the file's bytes are allowed.
TEST_F(PtFileTest, AViewOfAPackedStorageIsNoBomb) {
  constexpr uint32_t kUnpacked = 80 << 20;
  std::string bytes = WithPickle(Floats(kUnpacked / 4, {1}), 100'000);
  const std::string size = LittleEndian(kUnpacked);
  // APPNOTE.TXT 4.3.7 and 4.3.12: method and unpacked size in the local header and in the directory.
  const size_t local = bytes.rfind("PK\x03\x04");
  const size_t central = bytes.rfind("PK\x01\x02");
  bytes[local + 8] = bytes[central + 10] = 8;
  bytes.replace(local + 22, 4, size).replace(central + 24, 4, size);
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("tensor \"a\": with the entry archive/data/0 of 83886080 bytes its storages "
                                        "would take more than "));
}

TEST_F(PtFileTest, OtherFiles) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("no .pt file"));
  EXPECT_THAT(ErrorOf("\x80\x02}."), HasSubstr("before PyTorch 1.6"));
  StringSink sink;
  ZipWriter zip(sink);
  ASSERT_TRUE(zip.Add("readme", "x").ok() && zip.Finish().ok());
  EXPECT_THAT(ErrorOf(sink.text), HasSubstr("holds no NAME/data.pkl"));
  EXPECT_EQ(PtFile::Open("/nowhere/x.pt").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(PtFile::Open("/dev/zero").status().message()), HasSubstr("not a regular file"));
}

TEST_F(PtFileTest, BigEndianIsRefused) {
  StringSink sink;
  ZipWriter zip(sink);
  ASSERT_TRUE(zip.Add("archive/data.pkl", Floats(2, {2})).ok());
  ASSERT_TRUE(zip.Add("archive/byteorder", "big").ok());
  ASSERT_TRUE(zip.Add("archive/data/0", std::string(8, '\0')).ok());
  ASSERT_TRUE(zip.Finish().ok());
  EXPECT_THAT(ErrorOf(sink.text), HasSubstr("byte order \"big\""));
}

}  // namespace
}  // namespace ddp
