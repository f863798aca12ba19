#include "common/nvml.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ddp {
namespace {

TEST(NvmlTest, WithoutADriver) {
  const auto nvml = Nvml::Load("libnvidia-ml-that-nobody-has.so");
  EXPECT_EQ(nvml.status().message(), "this machine has no NVIDIA driver (libnvidia-ml.so.1 is not installed)");
}

TEST(NvmlTest, ALibraryOfOtherThings) {
  EXPECT_EQ(Nvml::Load("libm.so.6").status().message(), "the NVIDIA driver's libnvidia-ml.so.1 is too old");
}

TEST(NvmlTest, ADriverWithoutGpus) {
  setenv("NVML_FAKE", "none", 1);
  EXPECT_EQ(Nvml::Load(DDP_FAKE_NVML).status().message(), "the NVIDIA driver sees no GPU");
  unsetenv("NVML_FAKE");
}

// The numbers of testing/fake_nvml.cc.
TEST(NvmlTest, WhatGpusTell) {
  const auto nvml = Nvml::Load(DDP_FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  EXPECT_EQ((*nvml)->count(), 2);
  EXPECT_EQ((*nvml)->Name(0), "Fake A");
  EXPECT_EQ((*nvml)->Name(1), "Fake B");
  EXPECT_EQ((*nvml)->Name(2), "GPU");
  const GpuUse first = (*nvml)->Use(0);
  EXPECT_EQ(first.utilization_percent, 90);
  EXPECT_EQ(first.memory_bytes, 34359738368.0);
  EXPECT_EQ(first.power_watts, 312.5);
  EXPECT_EQ(first.temperature_celsius, 60);
  const GpuUse second = (*nvml)->Use(1);
  EXPECT_EQ(second.memory_bytes, 34359738369.0);
  EXPECT_EQ(second.power_watts, std::nullopt);
  EXPECT_EQ(second.temperature_celsius, 61);
  EXPECT_EQ((*nvml)->Use(2).utilization_percent, std::nullopt);
}

}  // namespace
}  // namespace ddp
