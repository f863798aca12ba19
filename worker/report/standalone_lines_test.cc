#include "worker/report/standalone_lines.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ddp {
namespace {

v1::WorkerEvent Point(const std::string& series, int64_t step, double value) {
  v1::WorkerEvent event;
  v1::MetricColumn& column = *event.mutable_metrics()->add_columns();
  column.set_series(series);
  column.add_step(step);
  column.add_time(1.5);
  column.add_value(value);
  return event;
}

v1::WorkerEvent AtStep(int64_t step) {
  v1::WorkerEvent event;
  v1::Progress& progress = *event.mutable_progress();
  progress.set_step(step);
  progress.set_total_steps(20);
  progress.set_epoch(1);
  progress.set_epochs(2);
  progress.set_loss(0.25);
  progress.set_lr(0.001);
  progress.set_samples_per_second(5120.4);
  return event;
}

TEST(StandaloneLinesTest, Progress) {
  StandaloneLines lines;
  v1::WorkerEvent event = AtStep(12);
  EXPECT_EQ(lines.Of(event), "step 12/20  epoch 2/2  loss 0.25  lr 0.001  5120 samples/s\n");
  event.mutable_progress()->set_accuracy(0.5);
  EXPECT_EQ(lines.Of(event), "step 12/20  epoch 2/2  loss 0.25  acc 0.5000  lr 0.001  5120 samples/s\n");
}

TEST(StandaloneLinesTest, AValidationIsShownOnceAndARepeatedLineNever) {
  StandaloneLines lines;
  EXPECT_NE(lines.Of(AtStep(12)), "");
  EXPECT_EQ(lines.Of(AtStep(12)), "");
  EXPECT_EQ(lines.Of(Point("valid_loss", 12, 0.125)), "");
  v1::WorkerEvent event = AtStep(12);
  event.mutable_progress()->set_valid_loss(0.125);
  event.mutable_progress()->set_valid_accuracy(1);
  EXPECT_EQ(lines.Of(event), "step 12/20  valid_loss 0.125  valid_acc 1.0000\n");
  EXPECT_EQ(lines.Of(event), "");
  // The same value again is a result again.
  EXPECT_EQ(lines.Of(Point("valid_loss", 13, 0.125)), "");
  event.mutable_progress()->set_step(13);
  EXPECT_EQ(
      lines.Of(event),
      "step 13/20  epoch 2/2  loss 0.25  lr 0.001  5120 samples/s\nstep 13/20  valid_loss 0.125  valid_acc 1.0000\n");
}

TEST(StandaloneLinesTest, BeginningCheckpointsAndEnds) {
  StandaloneLines lines;
  v1::WorkerEvent event;
  event.mutable_begun()->set_start_step(4);
  event.mutable_begun()->set_total_steps(20);
  EXPECT_EQ(lines.Of(event), "goes from step 4 to 20\n");
  EXPECT_EQ(lines.Of(AtStep(0)), "");  // nothing has been trained
  event.mutable_checkpoint()->set_folder("step-00000020");
  EXPECT_EQ(lines.Of(event), "saved step-00000020\n");
  event.mutable_finished()->set_outcome(v1::WorkerFinished::OUTCOME_COMPLETED);
  event.mutable_finished()->set_step(20);
  EXPECT_EQ(lines.Of(event), "done at step 20\n");
  event.mutable_finished()->set_outcome(v1::WorkerFinished::OUTCOME_STOPPED);
  event.mutable_finished()->set_step(7);
  event.mutable_finished()->set_saved_step(7);
  EXPECT_EQ(lines.Of(event), "stopped at step 7, saved; the same command goes on from there\n");
  event.mutable_finished()->set_step(0);
  event.mutable_finished()->set_saved_step(-1);
  EXPECT_EQ(lines.Of(event), "stopped at step 0, nothing to save; the same command begins anew\n");
}

TEST(StandaloneLinesTest, MetricsAreExact) {
  EXPECT_EQ(MetricRows(Point("loss", 3, 0.1).metrics()), "loss,3,1.500000,0.10000000000000001\n");
  EXPECT_EQ(MetricRows(Point("loss", 3, NAN).metrics()), "loss,3,1.500000,nan\n");
}

}  // namespace
}  // namespace ddp
