// The GPU half, on a GPU; elsewhere skipped, with the reason.
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/CachingHostAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/train/batch_copier.h"
#include "worker/train/step_seed.h"
#include "worker/train/testing.h"

namespace ddp {
namespace {

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "CUDA sees no GPU on this machine: what runs on one is not tested here";
  }
  const at::Device gpu_{at::kCUDA, 0};
};

TEST_F(CudaTest, TheSeedOfAStepIsTheGpusToo) {
  const auto draw = [&](int64_t step, int rank) {
    SeedStep(7, step, rank);
    return at::rand({1000}, gpu_);
  };
  const at::Tensor first = draw(3, 0);
  at::rand({17}, gpu_);  // leaves the generator in the middle of its sequence
  EXPECT_TRUE(draw(3, 0).equal(first));
  EXPECT_FALSE(draw(4, 0).equal(first));
  EXPECT_FALSE(draw(3, 1).equal(first));
}

TEST_F(CudaTest, BatchesArriveThroughPageLockedMemory) {
  const BatchCopier copier(gpu_);
  const int64_t before = at::getHostAllocator(at::kCUDA)->get_stats().allocations.allocated;
  // Many at once, so that memory would be used again too early if it could.
  for (int64_t round = 0; round < 20; ++round) {
    std::vector<BatchCopier::Copy> copies;
    for (int64_t i = 0; i < 4; ++i) {
      copies.push_back(copier.Begin({.size = 1 << 20, .classes = at::full({1 << 20}, round * 4 + i, at::kLong)}));
      EXPECT_TRUE(copies.back().arrived);
    }
    for (int64_t i = 0; i < 4; ++i) {
      const Batch batch = copier.End(std::move(copies[static_cast<size_t>(i)]));
      EXPECT_EQ(batch.classes.device(), gpu_);
      EXPECT_EQ(batch.classes.sum().item<int64_t>(), (round * 4 + i) << 20);
    }
  }
  EXPECT_GT(at::getHostAllocator(at::kCUDA)->get_stats().allocations.allocated, before);
}

TEST_F(CudaTest, TrainsAsOnACpu) {
  Job job;
  job.training.max_steps = 10;
  const Trained cpu = Train(job, {});
  const Trained cuda = Train(job, {.late = true, .cuda = true});
  const auto& right = cpu.points.at("loss");
  const auto& got = cuda.points.at("loss");
  ASSERT_EQ(right.size(), 10u);
  ASSERT_EQ(got.size(), 10u);
  for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(got[i].second, right[i].second, 1e-4) << "step " << i + 1;
  for (size_t i = 0; i < cpu.weights.size(); ++i)
    EXPECT_TRUE(at::allclose(cuda.weights[i], cpu.weights[i], 1e-3, 1e-4));
}

TEST_F(CudaTest, ReadLateIsTheSame) {
  const Trained at_once = Train({}, {.cuda = true});
  const Trained late = Train({}, {.late = true, .cuda = true});
  ExpectSamePoints("loss", late.points.at("loss"), at_once.points.at("loss"));
  EXPECT_TRUE(SameBits(late.weights, at_once.weights));
}

TEST_F(CudaTest, ANonFiniteStepChangesNothing) {
  Job job;
  job.bad_sample = 30;
  const Trained at_once = Train(job, {.cuda = true});
  const Trained late = Train(job, {.late = true, .cuda = true});
  EXPECT_THAT(late.error, ::testing::HasSubstr("at step"));
  EXPECT_EQ(late.error, at_once.error);
  EXPECT_TRUE(SameBits(late.weights, at_once.weights));
}

TEST_F(CudaTest, ResumesBitForBit) {
  Job job;
  const Trained whole = Train(job, {.late = true, .cuda = true});
  job.stop = true;
  const Trained head = Train(job, {.late = true, .cuda = true});
  job.stop = false;
  const Trained tail = Train(job, {.late = true, .cuda = true, .from = &head});
  EXPECT_TRUE(SameBits(tail.weights, whole.weights));
  EXPECT_TRUE(SameBits(tail.moments, whole.moments));
}

}  // namespace
}  // namespace ddp
