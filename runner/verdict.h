// How an attempt ended, as a pure function of what its ranks did.
#ifndef DDP_RUNNER_VERDICT_H_
#define DDP_RUNNER_VERDICT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/process.h"
#include "ddp/v1/runner.pb.h"
#include "ddp/v1/worker.pb.h"

namespace ddp {

struct RankRecord {
  std::optional<ExitStatus> exit;            // unset: still alive
  int exit_order = 0;                        // 1: the first rank whose end was seen
  bool ended_by_us = false;                  // a signal of ours was on its way before it ended
  std::optional<v1::WorkerFailure> failure;  // said before any signal of ours
  int failure_order = 0;                     // 1: the first rank whose failure was heard
  std::optional<v1::WorkerFinished> finished;
};

// A rank that ended badly by itself. A rank that had said it was finished is not one, whatever its teardown did.
bool IsRealFailure(const RankRecord& rank);
// A rank that said that it failed, then did not exit, and had to be killed.
bool IsStuckFailure(const RankRecord& rank);
// A rank that left because another one was gone.
bool IsEcho(const RankRecord& rank);

enum class StopRequest { kNone, kSave, kForce };

// All ranks have ended. The first real failure is to blame; with none, the first stuck failure;
// echoes only when there is neither. last_step: newest step that
// was heard of; saved_step: newest committed checkpoint, -1: none. failure.log_tail is left to the caller.
v1::AttemptEnded Judge(const std::vector<RankRecord>& ranks, StopRequest stop, int64_t last_step, int64_t saved_step);

}  // namespace ddp

#endif  // DDP_RUNNER_VERDICT_H_
