// The event files of one run, as TensorBoard would show them.
#ifndef DDP_CLIENT_EXCHANGE_RUN_READER_H_
#define DDP_CLIENT_EXCHANGE_RUN_READER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/exchange/event_reader.h"
#include "ddp/v1/metric.pb.h"

namespace ddp {

// Which points stay when a run has been restarted: a step supersedes the steps of its series from there on that came
// before it (TensorBoard's rule for preemption). Needs memory for each restart, not for each point.
class Restarts {
 public:
  // Points are numbered in the order of the files.
  void Saw(uint64_t number, int64_t step);
  // All points before `number`, from `step` on, are superseded.
  void RestartedAt(uint64_t number, int64_t step);
  bool Stays(uint64_t number, int64_t step) const;

 private:
  struct Restart {
    uint64_t number;
    int64_t step;
  };
  std::vector<Restart> restarts_;  // numbers and steps rise: an earlier one from a later step on says nothing new
  int64_t last_ = -1;
};

struct Run {
  std::string name;                // the folder, seen from where the search began; "." is that itself
  std::vector<std::string> files;  // in the order in which they were written
};
// Of a file, or of a folder with all that is in it: one run for each folder with event files. NotFound: there are none.
absl::StatusOr<std::vector<Run>> FindRuns(const std::string& path);

struct RunReport {
  int64_t points = 0, histograms = 0, texts = 0;
  int64_t superseded = 0;
  std::vector<std::string> notices;  // for people: what was left out, and why
};
// Reads the files twice and gives what stays, in order and in pieces. An error of `sink` ends it.
absl::StatusOr<RunReport> ReadRun(const Run& run,
                                  const std::function<absl::Status(const v1::ImportMetricsBatch&)>& sink);

}  // namespace ddp

#endif  // DDP_CLIENT_EXCHANGE_RUN_READER_H_
