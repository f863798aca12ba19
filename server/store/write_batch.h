// Changes that become durable together or not at all.
#ifndef DDP_SERVER_STORE_WRITE_BATCH_H_
#define DDP_SERVER_STORE_WRITE_BATCH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ddp/v1/job.pb.h"
#include "server/store/records.h"

namespace ddp {

namespace writes {
struct PutJob {
  JobRecord record;
};
struct PutAttempt {
  std::string job_id;
  v1::Attempt attempt;
  std::string secret;
};
struct AddEvent {
  std::string job_id;
  v1::JobEvent event;
};
struct AddChunk {
  std::string job_id;
  MetricChunk chunk;
};
struct ThinChunks {
  std::string job_id;
  ThinnedChunks chunks;
};
struct AddHistograms {
  std::string job_id;
  HistogramBatch batch;
};
struct AddTexts {
  std::string job_id;
  TextBatch batch;
};
struct SetProgress {
  std::string job_id;
  v1::Progress progress;
};
struct Acknowledge {
  std::string job_id;
  int32_t attempt;
  uint64_t from;
  uint64_t to;
};
struct DeleteJob {
  std::string job_id;
};
using Any = std::variant<PutJob, PutAttempt, AddEvent, AddChunk, ThinChunks, AddHistograms, AddTexts, SetProgress,
                         Acknowledge, DeleteJob>;
}  // namespace writes

// Applied in the order of the calls. A plain value; not thread-safe.
class WriteBatch {
 public:
  // Inserts or replaces the job itself, not its attempts. AlreadyExists when another job has the request_id.
  void PutJob(const JobRecord& record) {
    writes::PutJob put{record};
    put.record.job.clear_attempts();
    all_.emplace_back(std::move(put));
  }
  // Inserts or replaces; the acknowledged seq of an existing attempt stays.
  void PutAttempt(std::string job_id, v1::Attempt attempt, std::string secret) {
    all_.emplace_back(writes::PutAttempt{std::move(job_id), std::move(attempt), std::move(secret)});
  }
  // AlreadyExists when the seq is taken.
  void AddEvent(std::string job_id, v1::JobEvent event) {
    all_.emplace_back(writes::AddEvent{std::move(job_id), std::move(event)});
  }
  // AlreadyExists when the seq is taken.
  void AddChunk(std::string job_id, MetricChunk chunk) {
    all_.emplace_back(writes::AddChunk{std::move(job_id), std::move(chunk)});
  }
  // Aborted unless the job is still the one that ended at that time: it may have been resumed or deleted.
  void ThinChunks(std::string job_id, ThinnedChunks chunks) {
    all_.emplace_back(writes::ThinChunks{std::move(job_id), std::move(chunks)});
  }
  // Replaces those that the same attempt has reported for the same series and step. Above kMaxHistograms the job's are
  // thinned out.
  void AddHistograms(std::string job_id, HistogramBatch batch) {
    all_.emplace_back(writes::AddHistograms{std::move(job_id), std::move(batch)});
  }
  // Replaces those that the same attempt has logged for the same series and step. Above kMaxTexts the job's earliest
  // go.
  void AddTexts(std::string job_id, TextBatch batch) {
    all_.emplace_back(writes::AddTexts{std::move(job_id), std::move(batch)});
  }
  void SetProgress(std::string job_id, v1::Progress progress) {
    all_.emplace_back(writes::SetProgress{std::move(job_id), std::move(progress)});
  }
  // Moves the attempt's acknowledged seq; Aborted unless it stands at `from`. So a batch that follows a lost one is
  // refused as well, and a runner's events are stored without gap and without duplicate whatever fails in between.
  void Acknowledge(std::string job_id, int32_t attempt, uint64_t from, uint64_t to) {
    all_.emplace_back(writes::Acknowledge{std::move(job_id), attempt, from, to});
  }
  // The job with its attempts, events and metrics.
  void DeleteJob(std::string job_id) { all_.emplace_back(writes::DeleteJob{std::move(job_id)}); }

  const std::vector<writes::Any>& all() const { return all_; }
  bool empty() const { return all_.empty(); }

 private:
  std::vector<writes::Any> all_;
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_WRITE_BATCH_H_
