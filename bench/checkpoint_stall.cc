// How long a step waits for a checkpoint of the text encoder with Adam's moments. checkpoint_stall.py runs this, and
// Python's side.
//   bench_checkpoint_stall FOLDER --benchmark_repetitions=N
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "worker/data/dataset.h"
#include "worker/models/registry.h"
#include "worker/train/checkpoint_writer.h"

namespace ddp {
namespace {

template <typename T>
T OrExit(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "bench_checkpoint_stall: %s\n", std::string(value.status().message()).c_str());
  std::exit(1);
}

// A job after its first step, so that no moment is zero.
class Job {
 public:
  explicit Job(const std::string& folder) {
    config_.checkpoint_dir = folder;
    config_.training.data.valid = "none";
    const Dataset data = OrExit(LoadDataset(config_.training.data, nullptr, {}, [] { return false; }));
    info_.model_name = "text-encoder";
    info_.shape = {.objective = Objective::kMlm,
                   .vocab = data.tokenizer.vocab_size(),
                   .max_tokens = config_.training.data.max_tokens};
    info_.tokenizer = data.tokenizer.ToJson();
    info_.data_fingerprint = data.fingerprint;
    model_ = OrExit(MakeModel(info_.model_name, {}, info_.shape, config_.training.seed));
    optimizer_ = std::make_unique<Optimizer>(config_.training, model_->parameters());
    for (const at::Tensor& p : model_->tensors()) p.mutable_grad() = at::randn(p.sizes());
    optimizer_->Step(config_.training.lr, 1, {});
    writer_ = std::make_unique<CheckpointWriter>(
        config_, [] {}, [](int64_t, const absl::StatusOr<std::string>& saved, double) { OrExit(saved); });
    // The first one takes the memory that the later ones use again.
    Save();
    Wait();
  }

  void Save() {
    ++info_.state.step;
    writer_->Save(info_, *model_, *optimizer_);
  }
  void Wait() { OrExit(writer_->Wait()); }

 private:
  WorkerConfig config_;
  SnapshotInfo info_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<CheckpointWriter> writer_;
};

// blocking: a step would wait until all is on the disk.
void Stall(benchmark::State& state, Job* job, bool blocking) {
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    job->Save();
    if (blocking) job->Wait();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    job->Wait();
  }
}

}  // namespace
}  // namespace ddp

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_checkpoint_stall FOLDER --benchmark_repetitions=N\n");
    return 2;
  }
  at::set_num_threads(1);
  ddp::Job job(argv[1]);
  for (const bool blocking : {false, true}) {
    benchmark::RegisterBenchmark(blocking ? "blocking" : "async", ddp::Stall, &job, blocking)
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Iterations(1)
        ->ReportAggregatesOnly();
  }
  benchmark::RunSpecifiedBenchmarks();
}
