#include "server/daemon/exposition.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "proto/job_state.h"
#include "server/daemon/prometheus_text.h"
#include "server/store/convert.h"
#include "server/telemetry.h"

namespace ddp {

namespace {

constexpr char kCounter[] = "counter";
constexpr char kGauge[] = "gauge";

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double FileBytes(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? static_cast<double>(info.st_size) : 0;
}

double ResidentBytes() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/self/statm", 4096);
  long pages = 0;
  if (!text.ok() || std::sscanf(text->c_str(), "%*d %ld", &pages) != 1) return 0;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void AddJobs(const JobOverview& overview, const std::vector<v1::Slot>& slots, PrometheusText& out) {
  out.Family("ddpd_jobs", kGauge, "Jobs by state.");
  const google::protobuf::EnumDescriptor& states = *v1::JobState_descriptor();
  for (int i = 0; i < states.value_count(); ++i) {
    const auto state = static_cast<v1::JobState>(states.value(i)->number());
    if (state == v1::JOB_STATE_UNSPECIFIED) continue;
    const auto found = overview.states.find(state);
    out.Sample(found == overview.states.end() ? 0 : found->second,
               {{"state", absl::AsciiStrToLower(StateName(state))}});
  }
  int busy = 0;
  for (const v1::Slot& slot : slots) busy += slot.job_id().empty() ? 0 : 1;
  out.Family("ddpd_slots", kGauge, "Slots by use: one per GPU, or per CPU core where there is none.");
  out.Sample(busy, {{"use", "busy"}});
  out.Sample(static_cast<double>(slots.size()) - busy, {{"use", "free"}});
  out.Family("ddpd_jobs_finished_total", kCounter, "Jobs that came into an end state since the daemon started.");
  out.Sample(static_cast<double>(telemetry.jobs_succeeded), {{"outcome", "succeeded"}});
  out.Sample(static_cast<double>(telemetry.jobs_failed), {{"outcome", "failed"}});
  out.Sample(static_cast<double>(telemetry.jobs_cancelled), {{"outcome", "cancelled"}});
  out.Sample(static_cast<double>(telemetry.jobs_paused), {{"outcome", "paused"}});
  out.Family(
      "ddpd_job_restarts_total", kCounter,
      "Automatic restarts of jobs since the daemon started, by how the attempt before ended: failed, stopped though "
      "nobody had asked ddpd for it, or lost with its runner.");
  out.Sample(static_cast<double>(telemetry.restarts_failed), {{"reason", "failed"}});
  out.Sample(static_cast<double>(telemetry.restarts_stopped), {{"reason", "stopped"}});
  out.Sample(static_cast<double>(telemetry.restarts_lost), {{"reason", "lost"}});
  out.Histogram("ddpd_queue_wait_seconds", "Time from queued to starting.", telemetry.queue_wait);
}

// When the manifest, a checkpoint's last file, was written. Unset: there is no such checkpoint any more.
std::optional<double> CheckpointTime(const std::string& home, const JobOverview::Live& job) {
  struct stat info {};
  const std::string path =
      absl::StrFormat("%s/jobs/%s/checkpoints/step-%08d/manifest.json", home, job.id, job.checkpoint_step);
  if (job.checkpoint_step == 0 || stat(path.c_str(), &info) != 0) return std::nullopt;
  return static_cast<double>(info.st_mtim.tv_sec) + static_cast<double>(info.st_mtim.tv_nsec) * 1e-9;
}

void AddLiveJobs(const JobOverview& overview, const std::string& home, PrometheusText& out) {
  if (overview.live.empty()) return;
  const auto family = [&](const std::string& name, const std::string& help, auto value) {
    out.Family(name, kGauge, help);
    for (const JobOverview::Live& job : overview.live) {
      out.Sample(static_cast<double>(value(job.progress)), {{"job_id", job.id}});
    }
  };
  family("ddpd_job_step", "Optimizer steps that a live job has taken.", [](const auto& p) { return p.step(); });
  family("ddpd_job_steps_planned", "Optimizer steps that a live job will take; 0: not known yet.",
         [](const auto& p) { return p.total_steps(); });
  family("ddpd_job_loss", "Loss of the last step of a live job.", [](const auto& p) { return p.loss(); });
  family("ddpd_job_samples_per_second", "Speed of a live job.", [](const auto& p) { return p.samples_per_second(); });
  out.Family("ddpd_job_last_checkpoint_timestamp_seconds", kGauge,
             "When a live job's newest checkpoint was complete, since the Unix epoch; absent before the first.");
  for (const JobOverview::Live& job : overview.live) {
    if (const std::optional<double> time = CheckpointTime(home, job)) out.Sample(*time, {{"job_id", job.id}});
  }
}

void AddStore(const std::string& home, PrometheusText& out) {
  out.One("ddpd_points_ingested_total", kCounter, "Metric points that have become durable.",
          static_cast<double>(telemetry.points_ingested));
  out.Family(
      "ddpd_points_rejected_total", kCounter,
      "Metric points that were refused: of no well-formed column, of an attempt that is not the live one, or in a "
      "wrong message of an import.");
  out.Sample(static_cast<double>(telemetry.points_malformed), {{"reason", "malformed"}});
  out.Sample(static_cast<double>(telemetry.points_not_live), {{"reason", "not_live"}});
  out.Sample(static_cast<double>(telemetry.points_not_imported), {{"reason", "import"}});
  out.One("ddpd_ingest_queue_depth", kGauge, "Changes that wait for the store, points among them.",
          static_cast<double>(telemetry.changes_waiting));
  out.Histogram(
      "ddpd_checkpoint_seconds",
      "Time of a checkpoint that a training has saved, from the copy of its tensors to the commit; training goes on "
      "meanwhile.",
      telemetry.checkpoint);
  out.Histogram("ddpd_store_commit_seconds", "Time of a group commit, with its fsync.", telemetry.store_commit);
  out.One("ddpd_store_errors_total", kCounter, "Changes that could not be stored.",
          static_cast<double>(telemetry.store_errors));
  out.One("ddpd_store_bytes", kGauge, "Size of the database with its write-ahead log.",
          FileBytes(home + "/ddpd.db") + FileBytes(home + "/ddpd.db-wal"));
  struct statvfs room {};
  if (statvfs(home.c_str(), &room) != 0) return;
  out.One("ddpd_store_free_bytes", kGauge, "Free space where the daemon's home is.",
          static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize));
}

void AddProcess(const v1::SystemInfo& info, PrometheusText& out) {
  out.One("process_start_time_seconds", kGauge, "Start of the daemon since the Unix epoch.",
          absl::ToDoubleSeconds(FromTimestamp(info.start_time()) - absl::UnixEpoch()));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  out.One("process_cpu_seconds_total", kCounter, "CPU time of the daemon.",
          Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  out.One("process_resident_memory_bytes", kGauge, "Resident memory of the daemon.", ResidentBytes());
  const absl::StatusOr<std::vector<std::string>> open = ListFolder("/proc/self/fd");
  if (open.ok()) {
    out.One("process_open_fds", kGauge, "Open file descriptors of the daemon.", static_cast<double>(open->size()));
  }
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  out.One("process_max_fds", kGauge, "Limit of open file descriptors.", static_cast<double>(limit.rlim_cur));
}

}  // namespace

std::string Exposition(JobManager& manager, const v1::SystemInfo& info) {
  PrometheusText out;
  out.Family("ddpd_build_info", kGauge, "Always 1; the version is a label.");
  out.Sample(1, {{"version", info.version()}});
  const JobOverview overview = manager.Overview();
  AddJobs(overview, manager.Slots(), out);
  AddLiveJobs(overview, info.home(), out);
  AddStore(info.home(), out);
  out.Family("ddpd_stream_subscribers", kGauge, "Open streams by kind.");
  out.Sample(static_cast<double>(telemetry.metric_subscribers), {{"kind", "metrics"}});
  out.One("ddpd_stream_batches_skipped_total", kCounter,
          "Batches that subscribers did not read in time; each was told which.",
          static_cast<double>(telemetry.batches_skipped));
  out.One("ddpd_stream_coalesced_total", kCounter, "Batches that reached a stream in the message of a later one.",
          static_cast<double>(telemetry.batches_merged));
  out.Histogram("ddpd_stream_lag_seconds",
                "Time that the oldest point of a live message has waited for its stream since it was durable.",
                telemetry.stream_lag);
  AddProcess(info, out);
  return out.text();
}

}  // namespace ddp
