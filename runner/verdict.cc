#include "runner/verdict.h"

#include <algorithm>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "attempt/records.h"
#include "common/exit_codes.h"

namespace ddp {

namespace {

v1::Failure Describe(int rank, const RankRecord& record, int64_t last_step) {
  v1::Failure failure;
  failure.set_rank(rank);
  failure.set_exit_code(record.exit->exit_code);
  failure.set_signal(record.exit->signal);
  failure.set_step(std::max<int64_t>(last_step, record.failure ? record.failure->step() : -1));
  failure.set_retryable(record.exit->exit_code != kExitNoRetry && !(record.failure && !record.failure->retryable()));
  if (record.failure) {
    failure.set_message(record.failure->message());
  } else if (record.exit->signal != 0) {
    failure.set_message(absl::StrCat("rank ", rank, " was killed by ", record.exit->ToString(),
                                     record.exit->signal == SIGKILL
                                         ? "; if nobody did that, the kernel may have run out of memory (see dmesg)"
                                         : ""));
  } else {
    failure.set_message(absl::StrCat("rank ", rank, " ended with ", record.exit->ToString(), " and said nothing"));
  }
  return failure;
}

// The rank that is `wanted` and has the smallest `order`; -1: none.
int Earliest(const std::vector<RankRecord>& ranks, bool (*wanted)(const RankRecord&), int RankRecord::*order) {
  int best = -1;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (!wanted(ranks[r])) continue;
    if (best < 0 || ranks[r].*order < ranks[static_cast<size_t>(best)].*order) best = static_cast<int>(r);
  }
  return best;
}

}  // namespace

bool IsEcho(const RankRecord& rank) {
  return rank.exit && !rank.finished && !rank.ended_by_us && rank.exit->exit_code == kExitPeerLost;
}

bool IsRealFailure(const RankRecord& rank) { return rank.exit && !rank.finished && !rank.ended_by_us && !IsEcho(rank); }

bool IsStuckFailure(const RankRecord& rank) { return rank.exit && !rank.finished && rank.ended_by_us && rank.failure; }

v1::AttemptEnded Judge(const std::vector<RankRecord>& ranks, StopRequest stop, int64_t last_step, int64_t saved_step) {
  v1::AttemptEnded ended;
  const bool all_finished = std::all_of(ranks.begin(), ranks.end(), [](const RankRecord& r) { return r.finished; });
  bool stopped = false;
  for (const RankRecord& rank : ranks) {
    if (!rank.finished) continue;
    stopped |= rank.finished->outcome() == v1::WorkerFinished::OUTCOME_STOPPED;
    last_step = std::max(last_step, rank.finished->step());
    saved_step = std::max(saved_step, rank.finished->saved_step());
  }
  ended.set_step(last_step);
  ended.set_saved_step(saved_step);
  if (all_finished) {
    ended.set_outcome(stopped ? v1::ATTEMPT_OUTCOME_STOPPED : v1::ATTEMPT_OUTCOME_SUCCEEDED);
    return ended;
  }
  int blamed = Earliest(ranks, IsRealFailure, &RankRecord::exit_order);
  if (blamed < 0) blamed = Earliest(ranks, IsStuckFailure, &RankRecord::failure_order);
  if (blamed < 0) blamed = Earliest(ranks, IsEcho, &RankRecord::exit_order);
  if (stop == StopRequest::kForce || (stop == StopRequest::kSave && blamed < 0)) {
    ended.set_outcome(v1::ATTEMPT_OUTCOME_STOPPED);
    return ended;
  }
  ended.set_outcome(v1::ATTEMPT_OUTCOME_FAILED);
  if (blamed >= 0) {
    *ended.mutable_failure() = Describe(blamed, ranks[static_cast<size_t>(blamed)], last_step);
  } else {
    *ended.mutable_failure() = FailedWithoutRank("the ranks did not end together and were killed", last_step).failure();
  }
  return ended;
}

}  // namespace ddp
