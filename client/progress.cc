#include "client/progress.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/columns.h"
#include "common/text.h"
#include "proto/job_state.h"

namespace ddp {

namespace {

constexpr int kBars[] = {20, 10, 5};
constexpr int kLongestCurve = 20;
constexpr int kShortestCurve = 5;

std::string Bar(int64_t step, int64_t total, int cells) {
  const auto full = static_cast<size_t>(std::clamp<int64_t>(step * cells / std::max<int64_t>(1, total), 0, cells));
  return absl::StrCat("[", std::string(full, '#'), std::string(static_cast<size_t>(cells) - full, '.'), "]");
}

std::string ClockText(double seconds) {
  const auto s = static_cast<int64_t>(seconds + 0.5);
  return s < 3600 ? absl::StrFormat("%d:%02d", s / 60, s % 60)
                  : absl::StrFormat("%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

std::string ProgressLine(const v1::Job& job, int width, const Spark& curve, Glyphs glyphs) {
  const v1::Progress& p = job.progress();
  std::vector<std::string> parts{StateName(job.state())};
  size_t curve_at = 0;  // the part that it follows
  if (p.total_steps() > 0) {
    parts.push_back(absl::StrFormat("epoch %d/%d", std::min(p.epoch() + 1, std::max(1, p.epochs())), p.epochs()));
    parts.push_back(absl::StrCat(p.step(), "/", p.total_steps()));
    if (p.step() > 0) {
      parts.push_back(absl::StrFormat("loss %.4f", p.loss()));
      curve_at = parts.size() - 1;
    }
    // As long as it leaves room for the numbers so far.
    const int so_far = Columns(absl::StrJoin(parts, " "));
    for (const int cells : kBars) {
      if (so_far + cells + 3 > width) continue;
      parts[2] = absl::StrCat(Bar(p.step(), p.total_steps(), cells), " ", parts[2]);
      break;
    }
    if (p.step() > 0) {
      if (p.has_accuracy()) parts.push_back(absl::StrFormat("acc %.4f", p.accuracy()));
      parts.push_back(absl::StrFormat("lr %g", p.lr()));
    }
    if (p.samples_per_second() > 0 && job.state() == v1::JOB_STATE_RUNNING) {
      parts.push_back(absl::StrFormat("%.0f samples/s", p.samples_per_second()));
      const double rest = static_cast<double>(p.total_steps() - p.step()) *
                          static_cast<double>(job.spec().training().batch_size()) / p.samples_per_second();
      parts.push_back(absl::StrCat("ETA ", ClockText(rest)));
    }
  } else if (!job.state_reason().empty()) {
    parts.push_back(EscapeControls(job.state_reason()));
  }
  size_t fit = 1;
  int used = Columns(parts[0]);
  while (fit < parts.size() && used + 1 + Columns(parts[fit]) <= width) used += 1 + Columns(parts[fit++]);
  parts.resize(fit);
  const int room = std::min(kLongestCurve, width - used - 1);
  if (curve_at > 0 && curve_at < fit && room >= kShortestCurve) {
    const std::string drawn = curve.Text(room, glyphs);
    if (!drawn.empty()) parts[curve_at] += " " + drawn;
  }
  return std::string(CutColumns(absl::StrJoin(parts, " "), width));
}

std::string EpochLine(const v1::Progress& progress, int finished_epoch) {
  std::string line = absl::StrFormat("epoch %d/%d done: step %d  loss %.4f", finished_epoch + 1, progress.epochs(),
                                     progress.step(), progress.loss());
  if (progress.has_accuracy()) absl::StrAppendFormat(&line, "  acc %.4f", progress.accuracy());
  absl::StrAppendFormat(&line, "  lr %g", progress.lr());
  if (progress.has_valid_loss()) absl::StrAppendFormat(&line, "  valid_loss %.4f", progress.valid_loss());
  if (progress.has_valid_accuracy()) absl::StrAppendFormat(&line, "  valid_acc %.4f", progress.valid_accuracy());
  return line;
}

std::string EventLine(const v1::JobEvent& event) {
  const absl::Time time = absl::FromUnixSeconds(event.time().seconds());
  return absl::StrCat(absl::FormatTime("%H:%M:%S", time, absl::LocalTimeZone()), " ",
                      absl::StrFormat("%-10s", StateName(event.to_state())), "  ", EscapeControls(event.reason()));
}

std::string EndLine(const v1::Job& job) {
  std::string line = absl::StrCat(job.id(), " ", StateName(job.state()));
  if (!job.state_reason().empty()) absl::StrAppend(&line, ": ", EscapeControls(job.state_reason()));
  if (job.state() == v1::JOB_STATE_FAILED) {
    absl::StrAppend(&line, "\n  log: ddpctl logs ", job.id(), "   again: ddpctl resume ", job.id());
  } else if (job.state() == v1::JOB_STATE_PAUSED || job.state() == v1::JOB_STATE_CANCELLED) {
    absl::StrAppend(&line, "\n  go on: ddpctl resume ", job.id());
  }
  return line;
}

}  // namespace ddp
