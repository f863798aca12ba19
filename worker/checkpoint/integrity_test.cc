// Damage of every kind to every file of a realistic checkpoint: all of it is found, and the older checkpoint is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "common/files.h"
#include "worker/checkpoint/folder.h"
#include "worker/formats/little_endian.h"
#include "worker/formats/safetensors.h"
#include "worker/formats/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kFlips = 400;

std::string Floats(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::string bytes;
  for (size_t i = 0; i < n; ++i) bytes += LittleEndian(normal(random));
  return bytes;
}

// What ddp-worker saves of a small model: weights, both moments, and the state.
std::vector<std::pair<std::string, std::string>> Contents(uint32_t seed) {
  const std::vector<TensorBytes> weights{{"layers.0.weight", "F32", {16, 8}, nullptr, 512},
                                         {"layers.0.bias", "F32", {16}, nullptr, 64}};
  std::vector<TensorBytes> moments;
  for (const char* moment : {"exp_avg/", "exp_avg_sq/"}) {
    for (TensorBytes tensor : weights) {
      tensor.name = moment + tensor.name;
      moments.push_back(tensor);
    }
  }
  const nlohmann::json state{{"model", {{"name", "mlp"}, {"options", {{"hidden", "16"}}}}},
                             {"objective", "classification"},
                             {"class_names", {"a", "b"}},
                             {"data_fingerprint", "0123456789abcdef"},
                             {"step", seed},
                             {"epoch", 3},
                             {"valid_loss", 0.123456789},
                             {"epoch_loss", 17.25}};
  return {
      {"model.safetensors", SafetensorsHeader(weights, {{"format", "pt"}, {"ddpd_step", "640"}}) + Floats(144, seed)},
      {"optimizer.safetensors", SafetensorsHeader(moments, {{"format", "pt"}}) + Floats(288, seed + 1)},
      {"state.json", state.dump(1) + "\n"}};
}

class IntegrityTest : public ::testing::TestWithParam<const char*> {
 protected:
  IntegrityTest() {
    old_ = Commit(320, 1);
    new_ = Commit(640, 7);
    path_ = new_ + "/" + GetParam();
    good_ = *ReadFile(path_);
  }
  std::string Commit(int64_t step, uint32_t seed) {
    std::vector<FileToWrite> files;
    for (const auto& [name, bytes] : Contents(seed)) {
      files.push_back({name, [bytes = bytes](CheckpointFile& file) { return file.Append(bytes); }});
    }
    return test_.path() + "/" + *CommitCheckpoint(test_.path(), step, 1, files);
  }
  // The damage is found, told with the file's name, and the older checkpoint is used instead.
  void ExpectFound(const std::string& bytes, const std::string& what) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const absl::Status status = VerifyCheckpoint(new_);
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << what;
    ASSERT_THAT(std::string(status.message()), HasSubstr(path_)) << what;
    std::vector<std::string> rejected;
    ASSERT_EQ(NewestVerified(test_.path(), &rejected), old_) << what;
    ASSERT_THAT(rejected, ElementsAre(HasSubstr(path_))) << what;
  }

  TestFolder test_;
  std::string old_;
  std::string new_;
  std::string path_;
  std::string good_;
};

TEST_P(IntegrityTest, SingleBitFlips) {
  std::mt19937 random(20);
  std::set<size_t> bits;
  while (bits.size() < std::min(kFlips, good_.size() * 8)) bits.insert(random() % (good_.size() * 8));
  if (path_ == new_ + "/" + kManifestName) {
    for (size_t bit = 0; bit < good_.size() * 8; ++bit) bits.insert(bit);  // every one: it vouches for the others
  }
  for (const size_t bit : bits) {
    std::string bytes = good_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    ExpectFound(bytes, "bit " + std::to_string(bit));
    if (HasFatalFailure()) return;
  }
}

TEST_P(IntegrityTest, CutsAndAdditions) {
  std::set<size_t> lengths{0, 1, 7, 8, 9, 511, 512, 513, good_.size() / 2, good_.size() - 8, good_.size() - 1};
  for (size_t i = 0; i < good_.size(); i += std::max<size_t>(1, good_.size() / 200)) lengths.insert(i);
  for (const size_t length : lengths) {
    if (length < good_.size()) ExpectFound(good_.substr(0, length), "cut to " + std::to_string(length));
    if (HasFatalFailure()) return;
  }
  for (const std::string& more :
       {std::string("\n"), std::string(" "), std::string(1, '\0'), std::string(4096, '\0'), good_}) {
    ExpectFound(good_ + more, "with " + std::to_string(more.size()) + " bytes more");
    ExpectFound(more + good_, "with " + std::to_string(more.size()) + " bytes in front");
    if (HasFatalFailure()) return;
  }
}

TEST_P(IntegrityTest, OtherSpellingsSwapsAndAbsence) {
  ExpectFound(std::string(good_.size(), '\0'), "zeros");
  const std::string other = *ReadFile(old_ + "/" + GetParam());
  // Another manifest is whole, and the files are not those that it tells of.
  if (path_ != new_ + "/" + kManifestName) ExpectFound(other, "the file of the older checkpoint");
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << other;
  EXPECT_FALSE(VerifyCheckpoint(new_).ok());
  std::string swapped = good_;
  std::swap(swapped[good_.size() / 2], swapped[good_.size() / 3]);
  if (swapped != good_) ExpectFound(swapped, "two bytes exchanged");
  std::filesystem::remove(path_);
  EXPECT_EQ(VerifyCheckpoint(new_).code(), absl::StatusCode::kDataLoss);
  std::vector<std::string> rejected;
  EXPECT_EQ(NewestVerified(test_.path(), &rejected), old_);
}

INSTANTIATE_TEST_SUITE_P(File, IntegrityTest,
                         ::testing::Values("model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name.substr(0, name.find('.'));
                         });

TEST(DamageTest, SaysWhatIsExpectedAndFound) {
  const TestFolder test;
  const auto name = CommitCheckpoint(test.path(), 1, 1,
                                     {{"a", [](CheckpointFile& file) { return file.Append("hello"); }},
                                      {"b", [](CheckpointFile& file) { return file.Append("world"); }}});
  const std::string folder = test.path() + "/" + *name;
  EXPECT_TRUE(FindDamage(folder).empty());
  std::ofstream(folder + "/a") << "hell";
  std::ofstream(folder + "/b") << "World";
  const std::vector<Damage> damage = FindDamage(folder);
  ASSERT_EQ(damage.size(), 2u);
  EXPECT_EQ(damage[0].ToString(), folder + "/a: 4 bytes instead of 5 bytes");
  // Of python3-xxhash: xxhash.xxh3_128_hexdigest(b"world"), (b"World").
  EXPECT_EQ(damage[1].path, folder + "/b");
  EXPECT_EQ(damage[1].expected, "checksum fa0d38a9b38280d0891e4985bdb2583e");
  EXPECT_EQ(damage[1].found, "checksum c6b79f8716b7b4fc712c55e44b9d5d78");
}

TEST(DamageTest, ManifestsOfFormat1AreStillRead) {
  const TestFolder test;
  std::filesystem::create_directory(test.path() + "/step-00000001");
  test.Write("step-00000001/a", "hello");
  test.Write(
      "step-00000001/manifest.json",
      R"({"format_version":1,"step":1,"attempt":1,"files":{"a":{"bytes":5,"xxh3_128":"b5e9c1ad071b3e7fc779cfaa5e523818"}}})");
  EXPECT_TRUE(VerifyCheckpoint(test.path() + "/step-00000001").ok());
  test.Write("step-00000001/manifest.json", R"({"format_version":3,"files":{}})");
  EXPECT_THAT(std::string(VerifyCheckpoint(test.path() + "/step-00000001").message()), HasSubstr("neither 1 nor 2"));
}

}  // namespace
}  // namespace ddp
