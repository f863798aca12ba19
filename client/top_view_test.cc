#include "client/top_view.h"

#include <gtest/gtest.h>

#include "client/columns.h"

namespace ddp {
namespace {

constexpr int64_t kNow = 1796256000;

v1::Job Make(const std::string& id, v1::JobState state, int64_t step) {
  v1::Job job;
  job.set_id(id);
  job.set_state(state);
  job.mutable_spec()->set_name("n" + id);
  job.mutable_spec()->mutable_resources()->set_nproc(2);
  job.mutable_create_time()->set_seconds(kNow - 120);
  v1::Progress& p = *job.mutable_progress();
  p.set_step(step);
  p.set_total_steps(100);
  p.set_epochs(9);
  p.set_loss(0.5);
  p.set_lr(0.001);
  p.set_samples_per_second(1234);
  return job;
}

v1::SystemInfo Info() {
  v1::SystemInfo info;
  info.set_version("1.2");
  info.set_hostname("box");
  for (int i = 0; i < 4; ++i) {
    v1::Slot& slot = *info.add_slots();
    slot.set_index(i);
    if (i < 2) slot.set_job_id("01");
  }
  return info;
}

TopView Three() {
  TopView view(Glyphs::kAscii);
  view.Update({Make("03", v1::JOB_STATE_SUCCEEDED, 100), Make("02", v1::JOB_STATE_QUEUED, 0),
               Make("01", v1::JOB_STATE_RUNNING, 10)},
              Info());
  return view;
}

std::vector<std::string> Frame(const TopView& view, int width = 120, int height = 24, bool marks = false) {
  return view.Frame(width, height, absl::FromUnixSeconds(kNow), marks);
}

TEST(TopViewTest, LiveJobsFirstThenTheNewest) {
  EXPECT_EQ(Frame(Three()), (std::vector<std::string>{
                                "ddpd 1.2 on box  2 live of 3 jobs",
                                "slots: 0-1 01, 2-3 free",
                                "ID  NAME  STATE         STEP  EPOCH    LOSS  CURVE  ACC     LR  SAMPLES/S  RANKS  AGE",
                                "02  n02   QUEUED       0/100    1/9       -           -      -          -      2   2m",
                                "01  n01   RUNNING     10/100    1/9  0.5000           -  0.001       1234      2   2m",
                                "03  n03   SUCCEEDED  100/100    1/9  0.5000           -  0.001          -      2   2m",
                            }));
}

TEST(TopViewTest, NarrowTerminalsShowWhatMattersMost) {
  const std::vector<std::string> lines = Frame(Three(), 40);
  EXPECT_EQ(lines[2], "ID  NAME  STATE         STEP    LOSS");
  for (int width = 1; width < 130; ++width) {
    for (const std::string& line : Frame(Three(), width)) EXPECT_LE(Columns(line), width);
  }
}

TEST(TopViewTest, TheSelectedJobIsKeptAndKeptInView) {
  TopView view(Glyphs::kAscii);
  std::vector<v1::Job> jobs;
  for (int i = 10; i < 60; ++i) jobs.push_back(Make(std::to_string(i), v1::JOB_STATE_QUEUED, 0));
  view.Update(jobs, Info());
  for (int i = 0; i < 30; ++i) view.Press(Key::kDown);  // from 59 to 29
  const std::vector<std::string> lines = Frame(view, 120, 10, true);
  EXPECT_EQ(lines.size(), 10);
  EXPECT_EQ(lines[8].substr(0, 8), "\x1b[7m29  ");
  jobs.push_back(Make("60", v1::JOB_STATE_QUEUED, 0));
  view.Update(jobs, Info());
  EXPECT_EQ(view.Press(Key::kEnter).job, "29");
}

TEST(TopViewTest, StoppingIsAskedFirst) {
  TopView view = Three();
  view.Press(Key::kDown);
  EXPECT_EQ(view.Press(Key::kCancel).kind, TopAction::kNone);
  EXPECT_EQ(Frame(view, 120, 24, true).back(), "cancel 01? y/n");
  EXPECT_EQ(view.Press(Key::kNo).kind, TopAction::kNone);
  EXPECT_EQ(view.Press(Key::kYes).kind, TopAction::kNone);
  view.Press(Key::kPause);
  const TopAction action = view.Press(Key::kYes);
  EXPECT_EQ(action.kind, TopAction::kPause);
  EXPECT_EQ(action.job, "01");
  view.Press(Key::kResume);
  EXPECT_EQ(view.Press(Key::kQuit).kind, TopAction::kNone);  // no answer but y does anything
  EXPECT_EQ(view.Press(Key::kQuit).kind, TopAction::kQuit);
}

TEST(TopViewTest, TroubleSaysHowOldTheRestIs) {
  TopView before(Glyphs::kAscii);
  EXPECT_EQ(Frame(before)[0], "asking the daemon ...");
  before.SetTrouble("no daemon answers", absl::InfinitePast());
  EXPECT_EQ(Frame(before)[0], "no daemon answers; looking for it ...");
  TopView view = Three();
  view.SetTrouble("no daemon\x1b[2J", absl::FromUnixSeconds(kNow - 12));
  EXPECT_EQ(Frame(view)[0], "no daemon\\x1B[2J; this is 12s old");
  EXPECT_EQ(Frame(view)[3].substr(0, 2), "02");
  view.SetTrouble("", absl::FromUnixSeconds(kNow));
  EXPECT_EQ(Frame(view)[0], "ddpd 1.2 on box  2 live of 3 jobs");
}

TEST(TopViewTest, AMessageStaysUntilTheNextKey) {
  TopView view = Three();
  view.Tell("01 CANCELLING");
  EXPECT_EQ(Frame(view, 120, 24, true).back(), "01 CANCELLING");
  view.Press(Key::kDown);
  EXPECT_EQ(Frame(view, 120, 24, true).back(), "q quit  j/k select  enter watch  c cancel  p pause  r resume");
}

TEST(TopViewTest, AnImportMayHaveNoLoss) {
  v1::Job job = Make("01", v1::JOB_STATE_SUCCEEDED, 12);
  job.mutable_spec()->mutable_imported()->set_source("/runs/a");
  job.mutable_progress()->set_loss(0);
  job.mutable_progress()->set_total_steps(0);
  TopView view(Glyphs::kAscii);
  view.Update({job}, Info());
  EXPECT_EQ(Frame(view, 40)[3], "01  n01   SUCCEEDED     -     -    -");
}

TEST(TopViewTest, NoJobs) {
  TopView view(Glyphs::kAscii);
  for (const Key key : {Key::kEnter, Key::kCancel, Key::kYes, Key::kDown, Key::kUp}) {
    EXPECT_EQ(view.Press(key).kind, TopAction::kNone);
  }
  EXPECT_EQ(Frame(view).size(), 3);
}

}  // namespace
}  // namespace ddp
