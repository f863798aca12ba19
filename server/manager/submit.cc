// From a request to a queued job.
#include <openssl/sha.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "server/jobs/checkpoints.h"
#include "server/manager/job_manager.h"
#include "server/store/convert.h"
#include "spec/init_from.h"
#include "spec/spec_validation.h"

namespace ddp {

namespace {

// Of the spec as it was sent: the same bytes for equal specs, whatever the order of the maps.
std::string SpecHash(const v1::JobSpec& spec) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    spec.SerializeToCodedStream(&coded);
  }
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
}

SubmitResult Refused(std::vector<v1::FieldViolation> violations) {
  std::string text = "the spec is wrong";
  for (const v1::FieldViolation& v : violations) absl::StrAppend(&text, "; ", v.field(), ": ", v.description());
  return {.status = absl::InvalidArgumentError(text), .violations = std::move(violations), .response = {}};
}

v1::FieldViolation Violation(const std::string& field, const std::string& text) {
  v1::FieldViolation violation;
  violation.set_field(field);
  violation.set_description(text);
  return violation;
}

}  // namespace

absl::Status JobManager::ResolveParent(v1::JobSpec& spec, std::string* parent_id, std::string* init_path,
                                       std::vector<v1::FieldViolation>* violations) {
  const absl::StatusOr<InitFrom> from = ParseInitFrom(spec.training().init_from());
  if (!from.ok()) {
    violations->push_back(Violation("training.init_from", std::string(from.status().message())));
    return absl::OkStatus();
  }
  if (from->kind == InitFrom::Kind::kPath) *init_path = from->path;
  if (from->kind != InitFrom::Kind::kJob) return absl::OkStatus();
  std::lock_guard lock(mutex_);
  const absl::StatusOr<Table::iterator> parent = Find(from->job);
  if (!parent.ok()) {
    return absl::Status(parent.status().code(),
                        absl::StrCat("training.init_from: ", std::string(parent.status().message())));
  }
  const v1::Job& job = (*parent)->second.record.job;
  if (job.spec().has_imported()) {
    return absl::FailedPreconditionError(
        absl::StrCat("training.init_from: job ", job.id(), " was imported and has no checkpoints; name another job"));
  }
  const std::string folder = CheckpointFolderOf(job.id());
  if (const std::optional<CheckpointFolder> checkpoint = FindCheckpoint(folder, from->step)) {
    *init_path = checkpoint->path;
    *parent_id = job.id();
    TakeFromParent(job.spec().training(), *spec.mutable_training());
    return absl::OkStatus();
  }
  const std::string steps = StepsText(CommittedCheckpoints(folder));
  return absl::FailedPreconditionError(
      absl::StrCat("training.init_from: job ", job.id(), " (", StateName(job.state()), ") has no checkpoint",
                   from->step >= 0                 ? absl::StrCat(" of step ", from->step)
                   : from->step == InitFrom::kBest ? std::string(" that is known as the best")
                                                   : std::string(),
                   steps.empty() ? std::string(" yet") : absl::StrCat("; it has those of the steps ", steps)));
}

SubmitResult JobManager::Submit(const v1::SubmitJobRequest& request) {
  if (request.request_id().size() > 64) {
    return {.status = absl::InvalidArgumentError("request_id: at most 64 bytes"), .violations = {}, .response = {}};
  }
  JobRecord record;
  record.request_id = request.request_id();
  record.spec_hash = SpecHash(request.spec());
  {
    std::lock_guard lock(mutex_);
    if (std::optional<SubmitResult> replay = Replay(record.request_id, record.spec_hash)) return *std::move(replay);
  }
  v1::JobSpec spec = request.spec();
  std::vector<v1::FieldViolation> violations;
  std::string parent_id;
  if (spec.has_training()) {
    const absl::Status status = ResolveParent(spec, &parent_id, &record.init_path, &violations);
    if (!status.ok()) return {.status = status, .violations = {}, .response = {}};
  }
  // A checkpoint that is no job's of ours is described by a process of its own: only that may read a user's files.
  if (parent_id.empty() && NeedsDescription(spec.training(), record.init_path)) {
    v1::CheckRequest describe;
    describe.set_init_path(record.init_path);
    describe.set_parent_only(true);
    const absl::StatusOr<v1::CheckResult> described = parts_.checker.Check(describe);
    if (!described.ok()) return {.status = described.status(), .violations = {}, .response = {}};
    violations.insert(violations.end(), described->violations().begin(), described->violations().end());
    if (described->has_parent()) TakeFromParent(described->parent(), *spec.mutable_training());
  }
  FillDefaults(spec, options_.machine);
  const std::vector<v1::FieldViolation> more = Validate(spec, options_.machine);
  violations.insert(violations.end(), more.begin(), more.end());
  if (!violations.empty()) return Refused(std::move(violations));

  v1::CheckRequest check;
  *check.mutable_spec() = spec;
  check.set_init_path(record.init_path);
  absl::StatusOr<v1::CheckResult> checked = parts_.checker.Check(check);
  if (!checked.ok()) return {.status = checked.status(), .violations = {}, .response = {}};
  if (checked->violations_size() > 0) {
    return Refused({checked->violations().begin(), checked->violations().end()});
  }
  const std::vector<std::string> notices(checked->notices().begin(), checked->notices().end());
  v1::Job& job = record.job;
  *job.mutable_spec() = std::move(spec);
  job.set_parent_id(parent_id);
  job.set_checkpoint_step(-1);
  job.set_state(v1::JOB_STATE_QUEUED);
  job.mutable_progress()->set_epochs(job.spec().training().epochs());
  if (request.validate_only()) {
    SubmitResult result;
    *result.response.mutable_job() = job;
    *result.response.mutable_notices() = {notices.begin(), notices.end()};
    return result;
  }
  return Admit(std::move(record), notices);
}

std::optional<SubmitResult> JobManager::Replay(const std::string& request_id, const std::string& spec_hash) {
  if (request_id.empty()) return {};
  for (const auto& [id, entry] : jobs_) {
    if (entry.record.request_id != request_id) continue;
    SubmitResult result;
    if (entry.record.spec_hash == spec_hash) {
      *result.response.mutable_job() = entry.record.job;
    } else {
      result.status = absl::AlreadyExistsError(absl::StrCat("request_id was used with another spec, for job ", id));
    }
    return result;
  }
  return {};
}

SubmitResult JobManager::Admit(JobRecord record, std::vector<std::string> notices) {
  std::lock_guard lock(mutex_);
  // Again: the same request may have come twice at the same time.
  if (std::optional<SubmitResult> replay = Replay(record.request_id, record.spec_hash)) return *std::move(replay);
  const auto waiting = std::count_if(jobs_.begin(), jobs_.end(), [](const auto& item) {
    return item.second.record.job.state() == v1::JOB_STATE_QUEUED;
  });
  if (waiting >= kMaxWaitingJobs) {
    return {.status = absl::ResourceExhaustedError(absl::StrCat(waiting, " jobs wait already; try again later")),
            .violations = {},
            .response = {}};
  }
  const absl::Time now = parts_.clock.Now();
  std::string id = MakeJobId(now, RandomBits());
  while (jobs_.contains(id)) id = MakeJobId(now, RandomBits());
  v1::Job& job = record.job;
  job.set_id(id);
  job.set_state_reason("waits for slots");
  *job.mutable_create_time() = *job.mutable_update_time() = ToTimestamp(now);
  WriteBatch batch;
  // The job's row comes before its event: the event refers to it.
  batch.PutJob(record);
  AddEvent(record, v1::JOB_STATE_UNSPECIFIED, 0, "submitted", now, batch);
  for (const std::string& notice : notices) AddEvent(record, job.state(), 0, notice, now, batch);
  Entry entry;
  entry.feed = std::make_shared<Feed>();
  SubmitResult result;
  result.status = Commit(entry, std::move(record), std::move(batch));
  if (!result.status.ok()) return result;
  parts_.hub.Open(id, 0);
  Entry& placed = jobs_.emplace(id, std::move(entry)).first->second;
  *result.response.mutable_job() = placed.record.job;
  *result.response.mutable_notices() = {notices.begin(), notices.end()};
  Schedule();
  return result;
}

}  // namespace ddp
