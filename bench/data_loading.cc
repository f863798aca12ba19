// Samples per second of ddpd's readers and of what makes batches of them. data_loading.py runs this, and Python's side.
//   bench_data_loading TOKENS.bin [flags of Google Benchmark]
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "worker/data/dataset.h"
#include "worker/train/batch.h"
#include "worker/train/sampler.h"

namespace ddp {
namespace {

// One set, and how a rank trains on it.
struct Job {
  DataSpec spec;
  Objective objective = Objective::kMlm;
  int64_t share = 0;  // of a rank, of each global batch
  int64_t micro_batch = 0;
};

Dataset Load(const Job& job) {
  absl::StatusOr<Dataset> data = LoadDataset(job.spec, nullptr, {}, [] { return false; });
  if (!data.ok()) {
    std::fprintf(stderr, "bench_data_loading: %s\n", std::string(data.status().message()).c_str());
    std::exit(1);
  }
  return *std::move(data);
}

// From the files to samples in memory, tokenized; without the cache of tokens.
void Read(benchmark::State& state, const Job& job) {
  int64_t samples = 0;
  for (auto _ : state) samples += Load(job).train.size();
  state.SetItemsProcessed(samples);
}

// Whole epochs, as one rank sees them: order, share of each global batch, micro-batches.
void Batches(benchmark::State& state, const Job& job) {
  const Dataset data = Load(job);
  const int64_t n = data.train.size();
  const BatchMaker maker(data.train, job.objective, /*seed=*/0);
  int64_t epoch = 0;
  for (auto _ : state) {
    const std::vector<int32_t> order = EpochOrder(n, /*seed=*/0, epoch);
    for (int64_t begin = 0; begin < n; begin += job.share) {
      const int64_t end = std::min(n, begin + job.share);
      for (const std::vector<int64_t>& part : maker.Cut(RankShare(order, begin, end, 0, 1), job.micro_batch)) {
        benchmark::DoNotOptimize(maker.Make(part, static_cast<uint64_t>(epoch)));
      }
    }
    ++epoch;
  }
  state.SetItemsProcessed(epoch * n);
}

void Register(const std::string& name, const Job& job) {
  const auto add = [&](const std::string& part, void (*function)(benchmark::State&, const Job&)) {
    benchmark::RegisterBenchmark((name + "/" + part).c_str(), function, job)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  };
  add("read", Read);
  add("batches", Batches);
}

}  // namespace
}  // namespace ddp

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_data_loading TOKENS.bin [flags of Google Benchmark]\n");
    return 2;
  }
  at::set_num_threads(1);
  using ddp::LabelKind;
  using ddp::Objective;
  ddp::Register("text", {{.source = "wordnet", .valid = "none"}, Objective::kMlm, 2048, 128});
  ddp::Register("images", {{.source = "fashion-mnist", .valid = "none", .label_kind = LabelKind::kClass},
                           Objective::kClassification,
                           2048,
                           64});
  ddp::Register(
      "windows",
      {{.source = argv[1], .valid = "none", .vocab_size = 50257, .max_tokens = 256}, Objective::kClm, 32, 16});
  benchmark::RunSpecifiedBenchmarks();
}
