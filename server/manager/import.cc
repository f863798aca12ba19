// Jobs that have been trained elsewhere.
#include "server/metrics/import.h"
#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/status_macros.h"
#include "server/manager/job_manager.h"
#include "server/store/convert.h"
#include "spec/excerpt.h"

namespace ddp {

absl::StatusOr<JobManager::ImportedJob> JobManager::Import(const MetricsImport& import) {
  std::lock_guard lock(mutex_);
  if (std::optional<SubmitResult> replay = Replay(import.request_id(), import.hash())) {
    if (!replay->status.ok()) return replay->status;
    return ImportedJob{replay->response.job().id(), /*made=*/false};
  }
  const absl::Time now = parts_.clock.Now();
  std::string id = MakeJobId(now, RandomBits());
  while (jobs_.contains(id)) id = MakeJobId(now, RandomBits());
  JobRecord record;
  record.request_id = import.request_id();
  record.spec_hash = import.hash();
  v1::Job& job = record.job;
  job.set_id(id);
  *job.mutable_spec() = import.spec();
  job.set_checkpoint_step(-1);
  job.set_state(v1::JOB_STATE_SUCCEEDED);
  job.set_state_reason(absl::StrCat("imported from ", Excerpt(import.spec().imported().source())));
  job.mutable_progress()->set_step(import.last_step());
  *job.mutable_create_time() = *job.mutable_update_time() = *job.mutable_end_time() = ToTimestamp(now);
  WriteBatch batch;
  batch.PutJob(record);  // before what refers to it
  AddEvent(record, v1::JOB_STATE_UNSPECIFIED, 0, job.state_reason(), now, batch);
  import.AddTo(batch, id);
  Entry entry;
  DDP_RETURN_IF_ERROR(Commit(entry, std::move(record), std::move(batch)));
  jobs_.emplace(id, std::move(entry));
  return ImportedJob{id, /*made=*/true};
}

}  // namespace ddp
