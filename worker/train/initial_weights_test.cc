// Files of other float types. The expected numbers are what each bit pattern means by IEEE 754 (and bfloat16), worked
// out by hand.
#include "worker/train/initial_weights.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "worker/formats/testing.h"
#include "worker/train/tensor_file.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two parameters; "tied" is another name for the first.
class TwoTensors final : public Model {
 public:
  TwoTensors() {
    Add("a", at::zeros({2}));
    Add("b", at::zeros({2}));
  }
  LossSums Loss(const Batch&, bool) override { return {}; }
  std::string NameOf(const std::string& name) const override { return name == "tied" ? "a" : name; }
  std::vector<float> Values(size_t index) const {
    const at::Tensor values = parameter(index).detach();
    return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
  }
};

template <typename Number>
std::string All(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

// One tensor, as bytes.
struct Stored {
  std::string name;
  std::string dtype;
  std::string bytes;
};

class InitialWeightsTest : public ::testing::Test {
 protected:
  std::string Write(const std::vector<Stored>& tensors) const {
    std::vector<TensorBytes> head;
    std::string data;
    for (const Stored& t : tensors) {
      const auto n = static_cast<int64_t>(t.bytes.size() / DtypeBytes(t.dtype));
      head.push_back({.name = t.name, .dtype = t.dtype, .shape = {n}, .bytes = t.bytes.size()});
      data += t.bytes;
    }
    return folder_.Write("w.safetensors", SafetensorsHeader(head, {}) + data);
  }
  // What ReadInto makes of one tensor.
  absl::StatusOr<std::vector<float>> Read(const std::string& dtype, const std::string& bytes) const {
    const auto file = SafetensorsFile::Open(Write({{"x", dtype, bytes}}));
    if (!file.ok()) return file.status();
    std::vector<float> values(bytes.size() / DtypeBytes(dtype));
    const at::Tensor into = at::zeros({static_cast<int64_t>(values.size())});
    const absl::Status status = ReadInto(*file, file->tensors()[0], into);
    if (!status.ok()) return status;
    std::memcpy(values.data(), into.data_ptr(), values.size() * sizeof(float));
    return values;
  }

  TestFolder folder_;
};

TEST_F(InitialWeightsTest, F16) {
  // 1.5; -(2^-2)(1 + 341/1024); the largest; the smallest, 2^-24; -0; infinity.
  const auto values = Read("F16", All<uint16_t>({0x3e00, 0xb555, 0x7bff, 0x0001, 0x8000, 0x7c00}));
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(1.5F, -0.333251953125F, 65504.0F, 0x1p-24F, 0.0F, HUGE_VALF));
  EXPECT_TRUE(std::signbit((*values)[4]));
}

TEST_F(InitialWeightsTest, BF16) {
  // 1.5; -(2^-2)(1 + 43/128); the largest; the smallest, 2^-133.
  const auto values = Read("BF16", All<uint16_t>({0x3fc0, 0xbeab, 0x7f7f, 0x0001}));
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(1.5F, -0.333984375F, 0x1.fep127F, 0x1p-133F));
}

TEST_F(InitialWeightsTest, F64ToTheNearest) {
  // 0.1 rounds up in float32; the halves 1 + 2^-24 and 1 + 3 * 2^-24 go to the even neighbour; 1e-50 is below all.
  const auto values = Read("F64", All<double>({0.1, 1 + 0x1p-24, 1 + 0x3p-24, -2.5, 1e-50, HUGE_VAL, 0x1.fffffep127}));
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(0x1.99999ap-4F, 1.0F, 1 + 0x1p-22F, -2.5F, 0.0F, HUGE_VALF, 0x1.fffffep127F));
}

TEST_F(InitialWeightsTest, WhatFloat32CannotHoldIsRefused) {
  EXPECT_THAT(std::string(Read("F64", All<double>({1, 1e39})).status().message()),
              HasSubstr("tensor \"x\" holds a number (F64) that is too large for float32"));
  EXPECT_THAT(std::string(Read("I32", All<int32_t>({1})).status().message()), HasSubstr("tensor \"x\" is I32"));
  TwoTensors model;
  const std::string path = Write({{"a", "F64", All<double>({1, -1e39})}, {"b", "F32", All<float>({1, 2})}});
  const auto plan = LoadInitialWeights(path, {}, model);
  EXPECT_EQ(std::string(plan.status().message()),
            "training.init_from: " + path + ": tensor \"a\" holds a number (F64) that is too large for float32");
}

TEST_F(InitialWeightsTest, TheReportCountsWhatWasConverted) {
  TwoTensors model;
  auto plan = LoadInitialWeights(
      Write({{"a", "BF16", All<uint16_t>({0x3f80, 0xc000})}, {"b", "F64", All<double>({0.5, 3})}}), {}, model);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->ToString(), "loaded 2 of 2 tensors; converted to float32: 1 of BF16, 1 of F64");
  EXPECT_THAT(model.Values(0), ElementsAre(1, -2));
  EXPECT_THAT(model.Values(1), ElementsAre(0.5F, 3));
  plan = LoadInitialWeights(Write({{"a", "F32", All<float>({4, 5})}, {"b", "F16", All<uint16_t>({0x4600, 0x4700})}}),
                            {"b"}, model);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->ToString(), "loaded 1 of 2 tensors; fresh: b; not used: b");  // what is not loaded is not converted
  EXPECT_THAT(model.Values(0), ElementsAre(4, 5));
}

TEST_F(InitialWeightsTest, CheckRefusesOtherTypes) {
  TwoTensors model;
  const std::string path = Write({{"a", "I16", All<int16_t>({1, 2})}, {"b", "F32", All<float>({1, 2})}});
  EXPECT_EQ(std::string(CheckInitialWeights(path, {}, model).status().message()),
            "training.init_from: " + path + ": tensor \"a\" is I16; only F16, BF16, F32 and F64 can be loaded");
}

TEST_F(InitialWeightsTest, TiedTensorsAreComparedAsFloat32) {
  TwoTensors model;
  const Stored b{"b", "F32", All<float>({1, 2})};
  const Stored half{"a", "F16", All<uint16_t>({0x3c00, 0x4000})};
  EXPECT_TRUE(LoadInitialWeights(Write({half, b, {"tied", "F64", All<double>({1, 2})}}), {}, model).ok());
  EXPECT_THAT(
      std::string(
          LoadInitialWeights(Write({half, b, {"tied", "F64", All<double>({1, 3})}}), {}, model).status().message()),
      HasSubstr("differ, but the model has one tensor for both"));
}

}  // namespace
}  // namespace ddp
