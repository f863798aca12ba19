#include "worker/report/standalone_lines.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ddp {

namespace {

std::string OfEnd(const v1::WorkerFinished& end) {
  if (end.outcome() == v1::WorkerFinished::OUTCOME_COMPLETED) return absl::StrCat("done at step ", end.step(), "\n");
  return absl::StrCat("stopped at step ", end.step(),
                      end.saved_step() >= 0 ? ", saved; the same command goes on from there\n"
                                            : ", nothing to save; the same command begins anew\n");
}

}  // namespace

std::string StandaloneLines::Of(const v1::WorkerEvent& event) {
  switch (event.event_case()) {
    case v1::WorkerEvent::kMetrics:
      for (const v1::MetricColumn& column : event.metrics().columns()) {
        validated_ = validated_ || column.series() == "valid_loss";
      }
      return "";
    case v1::WorkerEvent::kBegun:
      return absl::StrCat("goes from step ", event.begun().start_step(), " to ", event.begun().total_steps(), "\n");
    case v1::WorkerEvent::kProgress:
      return OfProgress(event.progress());
    case v1::WorkerEvent::kCheckpoint:
      return absl::StrCat("saved ", event.checkpoint().folder(), "\n");
    case v1::WorkerEvent::kFinished:
      return OfEnd(event.finished());
    default:
      return "";
  }
}

std::string StandaloneLines::OfProgress(const v1::Progress& p) {
  if (p.step() == 0) return "";  // nothing trained yet
  std::string line = absl::StrFormat("step %d/%d  epoch %d/%d  loss %.6g", p.step(), p.total_steps(), p.epoch() + 1,
                                     p.epochs(), p.loss());
  if (p.has_accuracy()) absl::StrAppendFormat(&line, "  acc %.4f", p.accuracy());
  absl::StrAppendFormat(&line, "  lr %g", p.lr());
  if (p.samples_per_second() > 0) absl::StrAppendFormat(&line, "  %.0f samples/s", p.samples_per_second());
  line += '\n';
  std::string text;
  // The last step of an epoch and of a run is reported more than once.
  if (line != last_) text = last_ = line;
  if (validated_ && p.has_valid_loss()) {
    absl::StrAppendFormat(&text, "step %d/%d  valid_loss %.6g", p.step(), p.total_steps(), p.valid_loss());
    if (p.has_valid_accuracy()) absl::StrAppendFormat(&text, "  valid_acc %.4f", p.valid_accuracy());
    text += '\n';
  }
  validated_ = false;
  return text;
}

std::string MetricRows(const v1::MetricBatch& batch) {
  std::string rows;
  for (const v1::MetricColumn& column : batch.columns()) {
    for (int i = 0; i < column.step_size(); ++i) {
      // 17 digits hold every double.
      absl::StrAppendFormat(&rows, "%s,%d,%.6f,%.17g\n", column.series(), column.step(i), column.time(i),
                            column.value(i));
    }
  }
  return rows;
}

}  // namespace ddp
