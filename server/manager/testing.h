// A manager with a real store and hub, a clock that tests move, and a launcher that starts nothing.
#ifndef DDP_SERVER_MANAGER_TESTING_H_
#define DDP_SERVER_MANAGER_TESTING_H_

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "attempt/event_log.h"
#include "common/files.h"
#include "server/manager/job_manager.h"

namespace ddp {

class FakeClock final : public Clock {
 public:
  absl::Time Now() const override { return now; }
  absl::Duration Monotonic() const override { return now - absl::UnixEpoch(); }
  absl::Time now = absl::FromUnixSeconds(1800000000);
};

class FakeLauncher final : public Launcher {
 public:
  absl::StatusOr<int64_t> Launch(const v1::Launch& launch) override {
    if (!error.ok()) return error;
    launches.push_back(launch);
    alive.insert(launch.attempt_dir());
    return 4711;
  }
  bool Alive(const std::string& attempt_dir) override { return alive.contains(attempt_dir); }

  absl::Status error;
  std::vector<v1::Launch> launches;
  std::set<std::string> alive;
};

class FakeChecker final : public SpecChecker {
 public:
  absl::StatusOr<v1::CheckResult> Check(const v1::CheckRequest& request) override {
    requests.push_back(request);
    return request.parent_only() ? parent : result;
  }
  v1::CheckResult result;
  v1::CheckResult parent;  // the answer to parent_only
  std::vector<v1::CheckRequest> requests;
};

class FakeSession final : public RunnerSession {
 public:
  void Send(const v1::CoordinatorMessage& message) override {
    std::lock_guard lock(mutex);
    sent.push_back(message);
  }
  void Drop() override { dropped = true; }
  uint64_t acked() {
    std::lock_guard lock(mutex);
    uint64_t seq = 0;
    for (const auto& message : sent) seq = std::max({seq, message.ack().seq(), message.hello().acked_seq()});
    return seq;
  }
  int stops() {
    std::lock_guard lock(mutex);
    int n = 0;
    for (const auto& message : sent) n += message.has_stop() ? 1 : 0;
    return n;
  }
  std::mutex mutex;
  std::vector<v1::CoordinatorMessage> sent;
  std::atomic<bool> dropped{false};
};

// A daemon's inside. Restart() is what a crash and a new start do.
class Rig {
 public:
  explicit Rig(int slots = 2, MetricHub::Pace pace = MetricHub::EveryBatchAtOnce)
      : slots_(slots), pace_(std::move(pace)) {
    std::string name = std::filesystem::temp_directory_path() / "manager_test.XXXXXX";
    home = mkdtemp(name.data());
    Start();
  }
  ~Rig() {
    Stop();
    std::filesystem::remove_all(home);
  }
  void Stop() {
    manager.reset();
    hub.reset();
    store.reset();
  }
  void Start() {
    store = std::move(Store::Open(home + "/ddpd.db")).value();
    hub = std::make_unique<MetricHub>(store->reader(), MetricHub::kDefaultQueueLimit, pace_);
    JobManager::Options options{.home = home,
                                .machine = {.slots = slots_, .has_gpus = false, .no_gpu_reason = "none"},
                                .slots = {},
                                .cores = 2,
                                .worker_binary = "/w",
                                .cuda_worker_binary = "/wc"};
    options.slots.resize(static_cast<size_t>(slots_));
    manager = std::move(JobManager::Open(std::move(options), {*store, *hub, launcher, checker, clock})).value();
  }
  void Restart() {
    Stop();
    Start();
  }

  static v1::SubmitJobRequest Request(int nproc = 2) {
    v1::SubmitJobRequest request;
    request.mutable_spec()->mutable_training()->set_mode(v1::MODE_PRETRAIN);
    request.mutable_spec()->mutable_resources()->set_nproc(nproc);
    return request;
  }
  std::string Submit(int nproc = 2) {
    const SubmitResult result = manager->Submit(Request(nproc));
    return result.status.ok() ? result.response.job().id() : std::string(result.status.message());
  }
  v1::Job Job(const std::string& id) { return *manager->Get(id); }
  v1::JobState State(const std::string& id) { return Job(id).state(); }

  // The live attempt's runner.
  v1::RunnerHello Hello(const std::string& id) {
    for (auto launch = launcher.launches.rbegin(); launch != launcher.launches.rend(); ++launch) {
      if (launch->job_id() != id) continue;
      v1::RunnerHello hello;
      hello.set_job_id(id);
      hello.set_attempt(launch->attempt());
      hello.set_secret(launch->secret());
      hello.set_pid(4711);
      return hello;
    }
    return {};
  }
  // All of the attempt's processes are gone.
  void End(const std::string& id) {
    launcher.alive.erase(manager->AttemptFolder(id, Job(id).attempts_size()));
    manager->Poll();
  }

  static v1::RunnerEvent Event(uint64_t seq) {
    v1::RunnerEvent event;
    event.set_seq(seq);
    event.set_time(1800000000.0 + static_cast<double>(seq));
    return event;
  }
  static v1::RunnerEvent FirstStep(uint64_t seq) {
    v1::RunnerEvent event = Event(seq);
    event.mutable_from_rank()->mutable_event()->mutable_first_step()->set_step(1);
    return event;
  }
  static v1::RunnerEvent Saved(uint64_t seq, int64_t step) {
    v1::RunnerEvent event = Event(seq);
    event.mutable_from_rank()->mutable_event()->mutable_checkpoint()->set_step(step);
    return event;
  }
  static v1::RunnerEvent Loss(uint64_t seq, int64_t step) {
    v1::RunnerEvent event = Event(seq);
    v1::MetricColumn& column = *event.mutable_from_rank()->mutable_event()->mutable_metrics()->add_columns();
    column.set_series("loss");
    column.add_step(step);
    column.add_time(1);
    column.add_value(static_cast<double>(step));
    return event;
  }
  // A histogram without points beside it.
  static v1::RunnerEvent Histogram(uint64_t seq, int64_t step, double min) {
    v1::RunnerEvent event = Event(seq);
    v1::Histogram& histogram = *event.mutable_from_rank()->mutable_event()->mutable_metrics()->add_histograms();
    histogram.set_series("grad/w");
    histogram.set_step(step);
    histogram.set_min(min);
    histogram.set_max(9);
    histogram.add_counts(7);
    return event;
  }
  static v1::RunnerEvent Ended(uint64_t seq, v1::AttemptOutcome outcome, int64_t step, int64_t saved) {
    v1::RunnerEvent event = Event(seq);
    event.mutable_ended()->set_outcome(outcome);
    event.mutable_ended()->set_step(step);
    event.mutable_ended()->set_saved_step(saved);
    if (outcome == v1::ATTEMPT_OUTCOME_FAILED) {
      event.mutable_ended()->mutable_failure()->set_message("boom");
      event.mutable_ended()->mutable_failure()->set_retryable(true);
    }
    return event;
  }

  std::string home;
  FakeClock clock;
  FakeLauncher launcher;
  FakeChecker checker;
  std::unique_ptr<Store> store;
  std::unique_ptr<MetricHub> hub;
  std::unique_ptr<JobManager> manager;

 private:
  const int slots_;
  const MetricHub::Pace pace_;
};

}  // namespace ddp

#endif  // DDP_SERVER_MANAGER_TESTING_H_
