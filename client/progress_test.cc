#include "client/progress.h"

#include <gtest/gtest.h>

#include "client/columns.h"

namespace ddp {
namespace {

v1::Job Running() {
  v1::Job job;
  job.set_id("0abc");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.mutable_spec()->mutable_training()->set_batch_size(100);
  v1::Progress& p = *job.mutable_progress();
  p.set_step(30);
  p.set_total_steps(120);
  p.set_epoch(1);
  p.set_epochs(9);
  p.set_loss(4.25);
  p.set_accuracy(0.25);
  p.set_lr(1e-3);
  p.set_samples_per_second(100);
  return job;
}

TEST(ProgressTest, Line) {
  // 90 steps of 100 samples at 100 samples/s: 90 s.
  EXPECT_EQ(ProgressLine(Running(), 200),
            "RUNNING epoch 2/9 [#####...............] 30/120 loss 4.2500 acc 0.2500 lr 0.001 100 samples/s ETA 1:30");
}

TEST(ProgressTest, NeverWiderThanTheTerminal) {
  Spark curve;
  for (int step = 1; step <= 30; ++step) curve.Add(step, step);
  for (int width = 1; width < 140; ++width) {
    EXPECT_LE(Columns(ProgressLine(Running(), width, curve)), width);
    EXPECT_LE(Columns(ProgressLine(Running(), width, curve, Glyphs::kAscii)), width);
  }
  EXPECT_EQ(ProgressLine(Running(), 20), "RUNNING epoch 2/9");
  EXPECT_EQ(ProgressLine(Running(), 39), "RUNNING epoch 2/9 30/120 loss 4.2500");
  EXPECT_EQ(ProgressLine(Running(), 44), "RUNNING epoch 2/9 [#....] 30/120 loss 4.2500");
  EXPECT_EQ(ProgressLine(Running(), 60), "RUNNING epoch 2/9 [#####...............] 30/120 loss 4.2500");
}

TEST(ProgressTest, TheCurveFollowsTheLossAndTakesTheRoomThatIsLeft) {
  Spark curve;
  for (int step = 1; step <= 8; ++step) curve.Add(step, 8 - step);
  // Eighths of 7, 5, 3, 2 and 0: the largest of each column's steps.
  EXPECT_EQ(ProgressLine(Running(), 55, curve), "RUNNING epoch 2/9 [##........] 30/120 loss 4.2500 █▆▄▃▁");
  EXPECT_EQ(
      ProgressLine(Running(), 200, curve, Glyphs::kAscii),
      "RUNNING epoch 2/9 [#####...............] 30/120 loss 4.2500 #*+=~-._ acc 0.2500 lr 0.001 100 samples/s ETA "
      "1:30");
}

TEST(ProgressTest, AReasonIsCutBetweenCharactersAndByItsColumns) {
  v1::Job job;
  job.set_state(v1::JOB_STATE_QUEUED);
  job.set_state_reason("für");
  EXPECT_EQ(ProgressLine(job, 10), "QUEUED für");  // 10 columns, 11 bytes
  job.set_state_reason("数据数据");
  EXPECT_EQ(ProgressLine(job, 15), "QUEUED 数据数据");
  EXPECT_EQ(ProgressLine(job, 14), "QUEUED");  // does not fit
}

TEST(ProgressTest, BeforeTheFirstStep) {
  v1::Job job;
  job.set_state(v1::JOB_STATE_QUEUED);
  job.set_state_reason("waits for slots");
  EXPECT_EQ(ProgressLine(job, 80), "QUEUED waits for slots");
}

TEST(ProgressTest, OtherLines) {
  v1::Job job = Running();
  job.mutable_progress()->set_valid_loss(4);
  job.mutable_progress()->set_valid_accuracy(0.3);
  EXPECT_EQ(EpochLine(job.progress(), 1),
            "epoch 2/9 done: step 30  loss 4.2500  acc 0.2500  lr 0.001  valid_loss 4.0000  valid_acc 0.3000");
  job.set_state(v1::JOB_STATE_FAILED);
  job.set_state_reason("bad \x1b[31m");
  EXPECT_EQ(EndLine(job), "0abc FAILED: bad \\x1B[31m\n  log: ddpctl logs 0abc   again: ddpctl resume 0abc");
  v1::JobEvent event;
  event.set_to_state(v1::JOB_STATE_RUNNING);
  event.set_reason("attempt 1 trains");
  EXPECT_EQ(EventLine(event).substr(8), " RUNNING     attempt 1 trains");
}

}  // namespace
}  // namespace ddp
