#include "worker/checkpoint/convert.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files.h"
#include "worker/checkpoint/folder.h"
#include "worker/checkpoint/pt_file.h"
#include "worker/formats/little_endian.h"
#include "worker/formats/testing.h"
#include "worker/formats/xxh3.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

class ConvertTest : public ::testing::Test {
 protected:
  ConvertTest() {
    const std::string values = LittleEndian(1.5f) + LittleEndian(-2.0f);
    model_ = SafetensorsHeader({{"w", "F32", {2}, nullptr, 8}}, {{"format", "pt"}}) + values;
    folder_ = test_.path() + "/" +
              *CommitCheckpoint(test_.path(), 5, 1,
                                {{"model.safetensors", [this](CheckpointFile& file) { return file.Append(model_); }}});
  }
  // Runs the conversion into the file `out_`.
  template <typename Conversion>
  absl::StatusOr<Converted> Into(const Conversion& convert) {
    const UniqueFd fd(open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    return convert(fd.get());
  }

  TestFolder test_;
  std::string model_;
  std::string folder_;
  const std::string out_ = test_.path() + "/out";
};

TEST_F(ConvertTest, ExportAsSafetensorsIsTheSameFile) {
  const auto result = Into([&](int fd) { return ExportModel(folder_, WeightsFormat::kSafetensors, fd); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*ReadFile(out_), model_);
  EXPECT_EQ(result->bytes, model_.size());
  EXPECT_EQ(result->xxh3_128, Xxh3Hex(model_));
  EXPECT_EQ(result->tensors, 1);
}

TEST_F(ConvertTest, ThereAndBack) {
  ASSERT_TRUE(Into([&](int fd) { return ExportModel(folder_, WeightsFormat::kPt, fd); }).ok());
  EXPECT_EQ(ReadFile(out_)->substr(0, 4), "PK\x03\x04");
  const std::string pt = test_.Write("x.pt", *ReadFile(out_));
  const auto result = Into([&](int fd) { return ImportModel(pt, fd); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*ReadFile(out_), model_);
  // And a safetensors file as it is.
  const std::string copy = test_.Write("copy", model_);
  ASSERT_TRUE(Into([&](int fd) { return ImportModel(copy, fd); }).ok());
  EXPECT_EQ(*ReadFile(out_), model_);
}

TEST_F(ConvertTest, DamagedCheckpointsAreNotExported) {
  const std::string path = folder_ + "/model.safetensors";
  std::string bytes = model_;
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
  const auto result = Into([&](int fd) { return ExportModel(folder_, WeightsFormat::kPt, fd); });
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(path));
  const auto none = Into([&](int fd) { return ExportModel(test_.path() + "/step-00000009", WeightsFormat::kPt, fd); });
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ConvertTest, AFullDiskIsSaid) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(ExportModel(folder_, WeightsFormat::kPt, full.get()).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ConvertTest, FilesWithoutTensorsAreRefused) {
  const std::string empty = test_.Write("empty.safetensors", LittleEndian(uint64_t{2}) + "{}");
  const auto result = Into([&](int fd) { return ImportModel(empty, fd); });
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("holds no tensors"));
}

}  // namespace
}  // namespace ddp
