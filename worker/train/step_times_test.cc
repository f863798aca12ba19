#include "worker/train/step_times.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

using std::chrono::milliseconds;
using Part = StepTimes::Part;

StepTimes::TimePoint At(int ms) { return StepTimes::TimePoint(milliseconds(ms)); }

TEST(StepTimesTest, MeansOfTwoSteps) {
  StepTimes times;
  times.Begin(At(1000));
  times.Enter(Part::kData, At(1001));     // compute 1
  times.Enter(Part::kCompute, At(1003));  // data 2
  times.Reduced(milliseconds(4));
  times.Enter(Part::kOptimizer, At(1013));  // compute 10, of which 4 were the sum
  times.End(At(1018));                      // optimizer 5
  // Validation between the two does not count.
  times.Begin(At(5000));
  times.Enter(Part::kData, At(5003));               // compute 3
  times.Enter(Part::kCompute, At(5007));            // data 4
  times.Enter(Part::kOptimizer, At(5017));          // compute 10
  times.Enter(Part::kCompute, At(5020));            // optimizer 3
  const StepParts parts = times.Take(2, At(5022));  // compute 2
  EXPECT_DOUBLE_EQ(parts.data, (2 + 4) / 2e3);
  EXPECT_DOUBLE_EQ(parts.compute, (1 + 10 - 4 + 3 + 10 + 2) / 2e3);
  EXPECT_DOUBLE_EQ(parts.reduce, 4 / 2e3);
  EXPECT_DOUBLE_EQ(parts.optimizer, (5 + 3) / 2e3);
}

TEST(StepTimesTest, TheRestOfAStepThatHasBeenReportedCountsForTheNext) {
  StepTimes times;
  times.Begin(At(0));
  times.Enter(Part::kOptimizer, At(10));
  EXPECT_DOUBLE_EQ(times.Take(1, At(20)).optimizer, 0.01);
  times.End(At(23));
  times.Begin(At(23));
  const StepParts parts = times.Take(1, At(30));
  EXPECT_DOUBLE_EQ(parts.optimizer, 0.003);
  EXPECT_DOUBLE_EQ(parts.compute, 0.007);
}

TEST(StepTimesTest, AStepThatWasBrokenOffIsDropped) {
  StepTimes times;
  times.Begin(At(0));
  times.Enter(Part::kData, At(10));
  times.Begin(At(500));
  const StepParts parts = times.Take(1, At(501));
  EXPECT_DOUBLE_EQ(parts.data, 0);
  EXPECT_DOUBLE_EQ(parts.compute, 0.011);
}

}  // namespace
}  // namespace ddp
