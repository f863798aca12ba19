// How fast points go into the store, durably, and how fast a curve of a million of them is drawn. metrics_query.py and
// metrics_ingest.py run this.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "server/metrics/hub.h"
#include "server/metrics/query.h"
#include "server/store/store.h"

namespace ddp {
namespace {

constexpr char kJob[] = "0aaaaaaaaaaa";
constexpr int64_t kPoints = 1'000'000;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_metrics_store: %s\n", std::string(status.message()).c_str());
  std::exit(1);
}

double Loss(int64_t step) { return 2 / std::sqrt(static_cast<double>(step)) + (step % 997 == 0 ? 1.0 : 0.0); }

// A store with one job, in a folder of its own.
class Home {
 public:
  Home() {
    std::string name = std::filesystem::temp_directory_path() / "bench_metrics.XXXXXX";
    folder_ = mkdtemp(name.data());
    Open();
    JobRecord record;
    record.job.set_id(kJob);
    WriteBatch batch;
    batch.PutJob(record);
    Check(store_->CommitAndWait(std::move(batch)));
  }
  ~Home() {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Open() {
    store_.reset();
    auto opened = Store::Open(folder_ + "/ddpd.db");
    Check(opened.status());
    store_ = *std::move(opened);
  }
  Store& store() { return *store_; }

 private:
  std::string folder_;
  std::unique_ptr<Store> store_;
};

// The events of `points` points of each series, `steps` steps in each event.
void Fill(Store& store, MetricHub& hub, int64_t points, int64_t steps, const std::vector<std::string>& series) {
  std::atomic<int64_t> committed{0};
  for (int64_t first = 1; first <= points; first += steps) {
    v1::MetricBatch metrics;
    for (const std::string& name : series) {
      v1::MetricColumn& column = *metrics.add_columns();
      column.set_series(name);
      for (int64_t step = first; step < first + steps; ++step) {
        column.add_step(step);
        column.add_time(1.8e9 + static_cast<double>(step) * 1e-3);
        column.add_value(Loss(step));
      }
    }
    WriteBatch writes;
    const MetricHub::Batch batch = hub.Stage(kJob, 1, 0, metrics, writes);
    store.Commit(std::move(writes), [&hub, &committed, batch](const absl::Status& status) {
      Check(status);
      hub.Publish(kJob, batch);
      ++committed;
    });
    // As a runner, which is not acknowledged for ever.
    while (first / steps - committed > 1000) std::this_thread::yield();
  }
  Check(store.CommitAndWait({}));
}

v1::QueryMetricsRequest Wide() {
  v1::QueryMetricsRequest request;
  request.set_job_id(kJob);
  request.add_series("loss");
  request.set_max_buckets(1000);
  return request;
}

// As they come at 1,000 points a second: events of 10.
Home& Million() {
  static Home home;
  static const bool filled = [] {
    MetricHub hub(home.store().reader());
    hub.Open(kJob, 0);
    Fill(home.store(), hub, kPoints, 10, {"loss"});
    return true;
  }();
  benchmark::DoNotOptimize(filled);
  return home;
}

void Ask(Store& store) {
  const auto response = QueryMetrics(store.reader(), Wide());
  Check(response.status());
  int64_t count = 0;
  for (const v1::Bucket& bucket : response->buckets(0).buckets()) count += bucket.count();
  if (count != kPoints || response->buckets(0).buckets_size() != 1000) Check(absl::InternalError("points are missing"));
}

// cold: the first question to a daemon that has just started (the kernel has the file).
void Query(benchmark::State& state, bool cold) {
  Home& home = Million();
  if (!cold) Ask(home.store());
  for (auto _ : state) {
    if (cold) {
      state.PauseTiming();
      home.Open();
      state.ResumeTiming();
    }
    Ask(home.store());
  }
}

// What a page asks of each job that it shows.
void List(benchmark::State& state) {
  Store& store = Million().store();
  for (auto _ : state) {
    const auto response = ListSeries(store.reader(), kJob);
    Check(response.status());
    if (response->series(0).count() != kPoints) Check(absl::InternalError("points are missing"));
  }
}

// Until all are durable.
void Ingest(benchmark::State& state) {
  const int64_t steps = state.range(0);
  Home home;
  MetricHub hub(home.store().reader());
  hub.Open(kJob, 0);
  const std::vector<std::string> series = {"loss", "lr", "grad_norm", "step_seconds"};
  int64_t points = 0;
  for (auto _ : state) {
    Fill(home.store(), hub, 100 * 1000 * steps / 50, steps, series);
    points += 4 * 100 * 1000 * steps / 50;
  }
  state.SetItemsProcessed(points);
}

BENCHMARK_CAPTURE(Query, cold, true)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(Query, warm, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(List)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Ingest)->ArgName("steps_per_event")->Arg(10)->Arg(50)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace ddp

BENCHMARK_MAIN();
