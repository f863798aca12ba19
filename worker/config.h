// What one rank is told to do: a plain mirror of the Launch and WorkerStart messages (proto/ddp/v1/worker.proto), so
// that files that include torch need no protobuf.
#ifndef DDP_WORKER_CONFIG_H_
#define DDP_WORKER_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "worker/data/spec.h"

namespace ddp {

enum class Objective { kMlm, kEmbedding, kClassification, kRegression, kClm, kDenoising };
enum class OptimizerKind { kAdam, kAdamW, kSgd };
enum class ScheduleKind { kStep, kConstant, kMultistep, kCosine, kLinear };
enum class NanPolicy { kStop, kSkip, kRollback };
enum class BackendKind { kShm, kGloo, kNccl };

// As in specs and checkpoints.
inline const char* ObjectiveName(Objective o) {
  switch (o) {
    case Objective::kMlm:
      return "mlm";
    case Objective::kEmbedding:
      return "embedding";
    case Objective::kClassification:
      return "classification";
    case Objective::kRegression:
      return "regression";
    case Objective::kClm:
      return "clm";
    case Objective::kDenoising:
      return "denoising";
  }
  return "?";
}
// Some tokens are hidden, and the model is to find them.
inline bool IsHidingObjective(Objective o) { return o == Objective::kMlm || o == Objective::kEmbedding; }
inline bool NeedsLabels(Objective o) { return o == Objective::kClassification || o == Objective::kRegression; }
inline bool HasAccuracy(Objective o) {
  return o == Objective::kClassification || o == Objective::kMlm || o == Objective::kClm;
}

// The workload. Meaning, units and defaults: proto/ddp/v1/spec.proto.
struct TrainingConfig {
  Objective objective = Objective::kMlm;
  DataSpec data;
  std::string model_name;
  std::map<std::string, std::string> model_options;
  std::vector<std::string> reinit;
  int epochs = 9;
  int64_t max_steps = 0;  // 0: no limit
  int64_t batch_size = 4096;
  int64_t micro_batch = 0;  // 0: automatic
  double lr = 1e-3;
  OptimizerKind optimizer = OptimizerKind::kAdam;
  double weight_decay = 0;
  double momentum = 0;
  ScheduleKind schedule = ScheduleKind::kStep;
  int step_size = 3;
  double gamma = 0.1;
  uint64_t seed = 0;
  int64_t checkpoint_every = 0;
  int keep = 3;
  int64_t valid_every = 0;
  std::vector<std::string> freeze;
  std::vector<int> milestones;
  int64_t warmup = 0;
  double min_lr = 0;
  double clip = 0;  // 0: none
  bool bf16 = false;
  NanPolicy nan_policy = NanPolicy::kStop;
  bool nesterov = false;
  std::string best_metric = "valid_loss";
  int patience = 0;
  int64_t watch_every = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
};

struct WorkerConfig {
  std::string job_id;
  int attempt = 1;
  std::string checkpoint_dir;
  std::string init_path;
  std::string token_cache;  // folder; empty: none
  TrainingConfig training;
  bool cuda = false;
  BackendKind backend = BackendKind::kShm;
  int threads = 1;
  int rank = 0;
  int world_size = 1;
  int store_port = 0;
  int store_fd = -1;
  int shm_fd = -1;
};

}  // namespace ddp

#endif  // DDP_WORKER_CONFIG_H_
