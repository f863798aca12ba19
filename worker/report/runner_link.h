// The worker's line to its runner.
#ifndef DDP_WORKER_REPORT_RUNNER_LINK_H_
#define DDP_WORKER_REPORT_RUNNER_LINK_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/config.h"

namespace ddp {

struct ProgressReport {
  int64_t step = 0;
  int64_t total_steps = 0;
  int epoch = 0;
  int epochs = 0;
  double loss = 0;
  std::optional<double> accuracy;
  double lr = 0;
  double samples_per_second = 0;
  std::optional<double> valid_loss;
  std::optional<double> valid_accuracy;
};

// How the finite values of one tensor are spread. The range from min to max is cut into equal bins; max falls into the
// last one. min and max are equal when all values are.
struct HistogramReport {
  static constexpr int kBins = 64;
  std::string series;  // "param/NAME" or "grad/NAME"
  int64_t step = 0;    // optimizer steps done
  double min = 0;
  double max = 0;
  std::array<int64_t, kBins> counts{};
  int64_t non_finite = 0;
};

// A text at a step.
struct TextReport {
  std::string series;
  int64_t step = 0;  // optimizer steps done
  std::string text;  // UTF-8
};

// Reports never block the caller on the runner's reading except when 1 MiB of them is waiting. Metric points,
// histograms and texts leave in batches at most 10 ms old; every other report is sent at once, after the points before
// it. Thread-safe.
class RunnerLink {
 public:
  // Takes the descriptor, reads the first command (the start) and begins to listen for stop requests. When the runner
  // vanishes the process exits: nobody would ever end it otherwise.
  static absl::StatusOr<std::unique_ptr<RunnerLink>> Open(int fd, WorkerConfig* config);
  ~RunnerLink();

  bool stop_requested() const { return stop_requested_.load(std::memory_order_relaxed); }

  void Phase(const std::string& phase);
  void Begun(int64_t start_step, int64_t total_steps, const std::map<std::string, std::string>& facts);
  void FirstStep(int64_t step);
  void Progress(const ProgressReport& progress);
  void CheckpointSaved(int64_t step, const std::string& folder, double seconds);
  void Notice(const std::string& text);
  void Failure(const std::string& message, bool retryable, int64_t step);
  void Finished(bool completed, int64_t step, int64_t saved_step);

  // A number for a series name, once, for quick calls of Metric.
  int SeriesIndex(const std::string& name);
  // step: optimizer steps done. The time is taken here.
  void Metric(int series, int64_t step, double value);
  // Until the runner has all reports so far in its log, where they outlive it and this process; for a runner that
  // cannot write (a full disk), five seconds. One thread at a time.
  void AwaitRecorded();
  // The time is taken here.
  void Histogram(HistogramReport histogram);
  void Text(TextReport text);

 private:
  explicit RunnerLink(int fd) : fd_(fd) {}
  struct Column {
    std::string name;
    std::vector<int64_t> steps;
    std::vector<double> times;
    std::vector<double> values;
  };
  struct TimedHistogram {
    double time = 0;
    HistogramReport report;
  };
  struct TimedText {
    double time = 0;
    TextReport report;
  };
  void Listen();
  void FlushLoop();
  void SendPoints();
  void SendEvent(const std::string& serialized);

  int fd_;
  std::atomic<bool> stop_requested_{false};
  std::mutex send_mutex_;  // one frame at a time; taken before points_mutex_
  std::mutex points_mutex_;
  std::condition_variable points_waiting_;
  std::vector<Column> columns_;
  std::vector<TimedHistogram> histograms_;
  std::vector<TimedText> texts_;
  bool has_points_ = false;  // or histograms, or texts
  bool closing_ = false;
  std::mutex recorded_mutex_;
  std::condition_variable recorded_changed_;
  uint64_t asked_ = 0;     // of the thread in AwaitRecorded
  uint64_t recorded_ = 0;  // the runner's last answer
  std::thread listener_;
  std::thread flusher_;
};

}  // namespace ddp

#endif  // DDP_WORKER_REPORT_RUNNER_LINK_H_
