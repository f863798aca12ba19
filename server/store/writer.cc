#include "server/store/writer.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "server/store/convert.h"

namespace ddp {

absl::StatusOr<std::unique_ptr<Writer>> Writer::Make(Database database) {
  // Statements point at the database, so it must have its final address before they are prepared.
  std::unique_ptr<Writer> writer(new Writer(std::move(database)));
  DDP_RETURN_IF_ERROR(writer->Prepare());
  return writer;
}

absl::Status Writer::Prepare() {
  DDP_ASSIGN_OR_RETURN(
      put_job_, database_.Prepare(
                    "INSERT INTO jobs VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18) "
                    "ON CONFLICT(id) DO UPDATE SET spec=?4, state=?7, state_reason=?8, update_time=?10, end_time=?11, "
                    "progress=?12, "
                    "restarts=?13, failures_in_row=?14, checkpoint_step=?15, failure=?16, slots=?17, last_event=?18"));
  DDP_ASSIGN_OR_RETURN(put_attempt_,
                       database_.Prepare("INSERT INTO attempts(job_id, number, attempt, secret) VALUES(?1,?2,?3,?4) "
                                         "ON CONFLICT(job_id, number) DO UPDATE SET attempt=?3, secret=?4"));
  DDP_ASSIGN_OR_RETURN(add_event_, database_.Prepare("INSERT INTO events VALUES(?1,?2,?3)"));
  DDP_ASSIGN_OR_RETURN(add_chunk_, database_.Prepare("INSERT INTO metric_chunks VALUES(?1,?2,?3,?4,?5)"));
  DDP_ASSIGN_OR_RETURN(note_thinned_, database_.Prepare("INSERT OR REPLACE INTO metric_retention SELECT id, end_time, "
                                                        "?3, ?4 FROM jobs WHERE id=?1 AND end_time=?2"));
  DDP_ASSIGN_OR_RETURN(replace_chunk_,
                       database_.Prepare("UPDATE metric_chunks SET batch=?3 WHERE job_id=?1 AND seq=?2"));
  DDP_ASSIGN_OR_RETURN(delete_chunk_, database_.Prepare("DELETE FROM metric_chunks WHERE job_id=?1 AND seq=?2"));
  DDP_ASSIGN_OR_RETURN(note_metric_attempt_,
                       database_.Prepare("INSERT OR IGNORE INTO metric_attempts VALUES(?1,?2,?3)"));
  DDP_ASSIGN_OR_RETURN(add_histogram_, database_.Prepare("INSERT OR REPLACE INTO histograms VALUES(?1,?2,?3,?4,?5)"));
  DDP_ASSIGN_OR_RETURN(add_text_, database_.Prepare("INSERT OR REPLACE INTO texts VALUES(?1,?2,?3,?4,?5)"));
  DDP_ASSIGN_OR_RETURN(set_progress_, database_.Prepare("UPDATE jobs SET progress=?2 WHERE id=?1"));
  DDP_ASSIGN_OR_RETURN(
      acknowledge_,
      database_.Prepare("UPDATE attempts SET acked_seq=?4 WHERE job_id=?1 AND number=?2 AND acked_seq=?3"));
  DDP_ASSIGN_OR_RETURN(delete_job_, database_.Prepare("DELETE FROM jobs WHERE id=?1"));
  DDP_RETURN_IF_ERROR(histogram_cap_.Prepare(database_));
  DDP_RETURN_IF_ERROR(text_cap_.Prepare(database_));
  return summaries_.Prepare(database_);
}

std::vector<absl::Status> Writer::CommitGroup(const std::vector<const WriteBatch*>& batches) {
  absl::Status together = CommitTogether(batches);
  if (together.ok() || batches.size() == 1) return std::vector<absl::Status>(batches.size(), together);
  std::vector<absl::Status> statuses;
  for (const WriteBatch* batch : batches) statuses.push_back(CommitTogether({batch}));
  return statuses;
}

absl::Status Writer::CommitTogether(const std::vector<const WriteBatch*>& batches) {
  DDP_RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE"));
  absl::Status status;
  for (const WriteBatch* batch : batches) {
    status = Apply(*batch);
    if (!status.ok()) break;
  }
  if (status.ok()) status = summaries_.Flush();
  if (status.ok()) status = database_.Execute("COMMIT");
  if (!status.ok()) {
    histogram_cap_.ForgetAll();
    text_cap_.ForgetAll();
    summaries_.ForgetAll();
    if (database_.InTransaction()) (void)database_.Execute("ROLLBACK");
  }
  return status;
}

absl::Status Writer::Apply(const WriteBatch& batch) {
  for (const writes::Any& any : batch.all()) {
    DDP_RETURN_IF_ERROR(std::visit([this](const auto& write) { return Apply(write); }, any));
  }
  return absl::OkStatus();
}

absl::Status Writer::Apply(const writes::PutJob& write) {
  const JobRecord& record = write.record;
  const v1::Job& job = record.job;
  Statement& put = put_job_;
  put.BindText(1, job.id());
  if (record.request_id.empty()) {
    put.BindNull(2);
  } else {
    put.BindText(2, record.request_id);
  }
  put.BindBlob(3, record.spec_hash);
  put.BindBlob(4, job.spec().SerializeAsString());
  put.BindText(5, job.parent_id());
  put.BindText(6, record.init_path);
  put.BindInt(7, job.state());
  put.BindText(8, job.state_reason());
  put.BindInt(9, ToMicros(job.create_time()));
  put.BindInt(10, ToMicros(job.update_time()));
  if (job.has_end_time()) {
    put.BindInt(11, ToMicros(job.end_time()));
  } else {
    put.BindNull(11);
  }
  put.BindBlob(12, job.progress().SerializeAsString());
  put.BindInt(13, job.restarts());
  put.BindInt(14, record.failures_in_row);
  put.BindInt(15, job.checkpoint_step());
  if (job.has_failure()) {
    put.BindBlob(16, job.failure().SerializeAsString());
  } else {
    put.BindNull(16);
  }
  put.BindText(17, JoinSlots(record.slots));
  put.BindInt(18, static_cast<int64_t>(record.last_event));
  return put.Run();
}

absl::Status Writer::Apply(const writes::PutAttempt& write) {
  put_attempt_.BindText(1, write.job_id);
  put_attempt_.BindInt(2, write.attempt.number());
  put_attempt_.BindBlob(3, write.attempt.SerializeAsString());
  put_attempt_.BindText(4, write.secret);
  return put_attempt_.Run();
}

absl::Status Writer::Apply(const writes::AddEvent& write) {
  add_event_.BindText(1, write.job_id);
  add_event_.BindInt(2, static_cast<int64_t>(write.event.seq()));
  add_event_.BindBlob(3, write.event.SerializeAsString());
  return add_event_.Run();
}

absl::Status Writer::Apply(const writes::AddChunk& write) {
  DDP_RETURN_IF_ERROR(summaries_.Add(write.job_id, write.chunk.attempt, write.chunk.start_step, write.chunk.batch));
  add_chunk_.BindText(1, write.job_id);
  add_chunk_.BindInt(2, static_cast<int64_t>(write.chunk.seq));
  add_chunk_.BindInt(3, write.chunk.attempt);
  add_chunk_.BindInt(4, write.chunk.start_step);
  add_chunk_.BindBlob(5, write.chunk.batch);
  DDP_RETURN_IF_ERROR(add_chunk_.Run());
  return NoteMetricAttempt(write.job_id, write.chunk.attempt, write.chunk.start_step);
}

absl::Status Writer::Apply(const writes::ThinChunks& write) {
  const ThinnedChunks& chunks = write.chunks;
  note_thinned_.BindText(1, write.job_id);
  note_thinned_.BindInt(2, chunks.end_time);
  note_thinned_.BindInt(3, static_cast<int64_t>(chunks.up_to));
  note_thinned_.BindInt(4, chunks.done ? 1 : 0);
  DDP_RETURN_IF_ERROR(note_thinned_.Run());
  if (database_.Changes() != 1) {
    return absl::AbortedError(absl::StrCat("job ", write.job_id, " was resumed or deleted meanwhile"));
  }
  for (const auto& [seq, batch] : chunks.replaced) {
    replace_chunk_.BindText(1, write.job_id);
    replace_chunk_.BindInt(2, static_cast<int64_t>(seq));
    replace_chunk_.BindBlob(3, batch);
    DDP_RETURN_IF_ERROR(replace_chunk_.Run());
  }
  for (const uint64_t seq : chunks.deleted) {
    delete_chunk_.BindText(1, write.job_id);
    delete_chunk_.BindInt(2, static_cast<int64_t>(seq));
    DDP_RETURN_IF_ERROR(delete_chunk_.Run());
  }
  return chunks.done ? summaries_.Rebuild(write.job_id) : absl::OkStatus();
}

absl::Status Writer::Apply(const writes::AddHistograms& write) {
  DDP_RETURN_IF_ERROR(NoteMetricAttempt(write.job_id, write.batch.attempt, write.batch.start_step));
  for (v1::Histogram histogram : write.batch.histograms) {
    add_histogram_.BindText(1, write.job_id);
    add_histogram_.BindText(2, histogram.series());
    add_histogram_.BindInt(3, histogram.step());
    add_histogram_.BindInt(4, write.batch.attempt);
    // The columns hold them already.
    histogram.clear_series();
    histogram.clear_step();
    add_histogram_.BindBlob(5, histogram.SerializeAsString());
    DDP_RETURN_IF_ERROR(add_histogram_.Run());
  }
  return histogram_cap_.Added(write.job_id, static_cast<int64_t>(write.batch.histograms.size()));
}

absl::Status Writer::Apply(const writes::AddTexts& write) {
  DDP_RETURN_IF_ERROR(NoteMetricAttempt(write.job_id, write.batch.attempt, write.batch.start_step));
  for (const v1::Text& text : write.batch.texts) {
    add_text_.BindText(1, write.job_id);
    add_text_.BindText(2, text.series());
    add_text_.BindInt(3, text.step());
    add_text_.BindInt(4, write.batch.attempt);
    v1::Text stored;  // without what the columns hold already
    stored.set_time(text.time());
    stored.set_text(std::string(CutUtf8(text.text(), kLongestText)));
    add_text_.BindBlob(5, stored.SerializeAsString());
    DDP_RETURN_IF_ERROR(add_text_.Run());
  }
  return text_cap_.Added(write.job_id, static_cast<int64_t>(write.batch.texts.size()));
}

absl::Status Writer::NoteMetricAttempt(const std::string& job_id, int32_t attempt, int64_t start_step) {
  note_metric_attempt_.BindText(1, job_id);
  note_metric_attempt_.BindInt(2, attempt);
  note_metric_attempt_.BindInt(3, start_step);
  return note_metric_attempt_.Run();
}

absl::Status Writer::Apply(const writes::SetProgress& write) {
  set_progress_.BindText(1, write.job_id);
  set_progress_.BindBlob(2, write.progress.SerializeAsString());
  return set_progress_.Run();
}

absl::Status Writer::Apply(const writes::Acknowledge& write) {
  acknowledge_.BindText(1, write.job_id);
  acknowledge_.BindInt(2, write.attempt);
  acknowledge_.BindInt(3, static_cast<int64_t>(write.from));
  acknowledge_.BindInt(4, static_cast<int64_t>(write.to));
  DDP_RETURN_IF_ERROR(acknowledge_.Run());
  if (database_.Changes() == 1) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("job ", write.job_id, " attempt ", write.attempt, ": its stored events do not end at ", write.from));
}

absl::Status Writer::Apply(const writes::DeleteJob& write) {
  histogram_cap_.Forget(write.job_id);
  text_cap_.Forget(write.job_id);
  summaries_.Forget(write.job_id);
  delete_job_.BindText(1, write.job_id);
  return delete_job_.Run();
}

}  // namespace ddp
