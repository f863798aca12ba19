// Every job of this daemon, from Submit to Delete.
#ifndef DDP_SERVER_MANAGER_JOB_MANAGER_H_
#define DDP_SERVER_MANAGER_JOB_MANAGER_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "ddp/v1/job.pb.h"
#include "ddp/v1/runner.pb.h"
#include "ddp/v1/system.pb.h"
#include "server/jobs/spec_checker.h"
#include "server/jobs/state_machine.h"
#include "server/manager/runner_session.h"
#include "server/metrics/hub.h"
#include "server/store/store.h"
#include "server/supervisor/launcher.h"
#include "spec/spec_defaults.h"

namespace ddp {

class JobSubscription;
class JobsSubscription;
class MetricsImport;

// Too many jobs would make every list and every start slow before anybody notices why.
inline constexpr int kMaxWaitingJobs = 1000;

// A refused spec: InvalidArgument with one violation per wrong field.
struct SubmitResult {
  absl::Status status;
  std::vector<v1::FieldViolation> violations;
  v1::SubmitJobResponse response;
};

// How many jobs there are, and how far those are that have an attempt.
struct JobOverview {
  std::map<v1::JobState, int> states;
  struct Live {
    std::string id;
    v1::Progress progress;
    int64_t checkpoint_step = 0;  // 0: none
  };
  std::vector<Live> live;  // by id
};

// Thread-safe. Calls block until what they did is durable.
class JobManager {
 public:
  struct Options {
    std::string home;
    MachineFacts machine;
    std::vector<v1::Slot> slots;
    int cores = 1;
    std::string worker_binary;
    std::string cuda_worker_binary;
    double stop_grace_seconds = 30;
  };
  // Everything is borrowed and outlives the manager.
  struct Parts {
    Store& store;
    MetricHub& hub;
    Launcher& launcher;
    SpecChecker& checker;
    Clock& clock;
  };
  // Reads the jobs and takes up those that live.
  static absl::StatusOr<std::unique_ptr<JobManager>> Open(Options options, Parts parts);
  // Leaves the attempts alive.
  ~JobManager();

  SubmitResult Submit(const v1::SubmitJobRequest& request);
  // Makes a job that has ended out of points that are complete, or finds it again by the request_id (made: false).
  // AlreadyExists: the request_id was used with something else.
  struct ImportedJob {
    std::string id;
    bool made = false;
  };
  absl::StatusOr<ImportedJob> Import(const MetricsImport& import);
  // An id or a unique prefix. NotFound, InvalidArgument.
  absl::StatusOr<v1::Job> Get(const std::string& id);
  absl::StatusOr<v1::ListJobsResponse> List(const v1::ListJobsRequest& request);
  absl::StatusOr<v1::Job> Cancel(const std::string& id, bool force);
  absl::StatusOr<v1::Job> Pause(const std::string& id);
  // InvalidArgument with violations: the job cannot have so many ranks.
  absl::StatusOr<v1::Job> Resume(const v1::ResumeJobRequest& request, std::vector<v1::FieldViolation>* violations);
  absl::Status Delete(const std::string& id);
  // Jobs that wait, live or are paused, and whose init_from is this folder or something in it.
  std::vector<std::string> JobsThatStartFrom(const std::string& folder);
  std::vector<v1::Slot> Slots();
  JobOverview Overview();

  // wake is called with the manager's mutex held, so it must only post, when Next() may have something after kWait.
  absl::StatusOr<std::unique_ptr<JobSubscription>> Watch(const std::string& id, uint64_t after_event,
                                                         std::function<void()> wake);
  // The same for all jobs.
  std::unique_ptr<JobsSubscription> WatchAll(std::function<void()> wake);

  // A runner has dialled in. PermissionDenied: it is not the live attempt's. The reply and, while the job is stopping,
  // the stop request go to the session.
  absl::Status Attach(const v1::RunnerHello& hello, const std::shared_ptr<RunnerSession>& session);
  void Detach(const v1::RunnerHello& hello, const RunnerSession* session);
  // Events in order. Acknowledged through the session when they are durable. An error: drop the connection.
  absl::Status HandleEvent(const v1::RunnerHello& hello, const v1::RunnerEvent& event);

  // What the background thread does every few milliseconds; tests call it with the thread off.
  void Poll();
  void StartBackgroundThread();

  std::string JobFolder(const std::string& job_id) const;
  std::string CheckpointFolderOf(const std::string& job_id) const;
  std::string AttemptFolder(const std::string& job_id, int attempt) const;

 private:
  friend class JobSubscription;
  friend class JobsSubscription;

  // Watchers of all jobs see the progress of one at most so often.
  static constexpr absl::Duration kTellProgressEvery = absl::Milliseconds(500);

  // How far an attempt's events have come: staged are given to the store, committed are durable.
  struct Feed {
    std::mutex mutex;
    uint64_t staged ABSL_GUARDED_BY(mutex) = 0;
    uint64_t committed ABSL_GUARDED_BY(mutex) = 0;
    bool failed ABSL_GUARDED_BY(mutex) = false;
    std::weak_ptr<RunnerSession> session ABSL_GUARDED_BY(mutex);
  };
  struct Entry {
    JobRecord record;
    std::shared_ptr<Feed> feed;             // of the newest attempt
    std::optional<v1::AttemptEnded> ended;  // what its runner said last
    bool force_stop = false;
    absl::Duration retry_at;            // RESTARTING; Clock::Monotonic
    absl::Duration progress_stored_at;  // Clock::Monotonic
    absl::Duration progress_told_at;    // to watchers of all jobs; Clock::Monotonic
    bool progress_untold = false;
    uint64_t version = 1;
    std::set<JobSubscription*> watchers;
  };
  using Table = std::map<std::string, Entry>;

  JobManager(Options options, Parts parts) : options_(std::move(options)), parts_(parts) {}
  absl::Status Load();
  absl::StatusOr<Table::iterator> Find(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void AddEvent(JobRecord& record, v1::JobState from, int attempt, const std::string& reason, absl::Time now,
                       WriteBatch& batch);

  // Moves a copy of the record along the table and adds the event. FailedPrecondition when it cannot go there.
  absl::Status Move(JobRecord& record, JobTrigger trigger, const std::string& reason, WriteBatch& batch) const;
  // Commits the batch with PutJob(record) and makes the record the entry's.
  absl::Status Commit(Entry& entry, JobRecord record, WriteBatch batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Everybody who watches is told.
  void Changed(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeWatchers(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // watch_all.cc
  void Tell(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ProgressChanged(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Those who watch all jobs, when it is time.
  void TellProgress(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // submit.cc
  absl::Status ResolveParent(v1::JobSpec& spec, std::string* parent_id, std::string* init_path,
                             std::vector<v1::FieldViolation>* violations);
  SubmitResult Admit(JobRecord record, std::vector<std::string> notices);
  std::optional<SubmitResult> Replay(const std::string& request_id, const std::string& spec_hash)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // steer.cc
  absl::StatusOr<v1::Job> Stop(const std::string& id, JobTrigger trigger, bool force);
  // `nproc` instead of the job's number of ranks.
  absl::Status CheckRanks(const std::string& id, int nproc, std::vector<v1::FieldViolation>* violations);
  void SendStop(const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // attempts.cc
  void Schedule() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartAttempt(Entry& entry, JobTrigger trigger, const std::vector<int>& slots)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::Launch MakeLaunch(const JobRecord& record) const;
  void FinishAttempt(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishWith(Entry& entry, const v1::AttemptEnded& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool PollAttempts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // events.cc
  absl::Status TakeEvent(Entry& entry, const v1::RunnerEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsQuiet(const v1::RunnerEvent& event) const;
  void TakeQuietEvent(Entry& entry, const v1::RunnerEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TakeLoudEvent(Entry& entry, const v1::RunnerEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status DrainFiles(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Entry*> LiveEntry(const v1::RunnerHello& hello) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const Parts parts_;
  std::mutex mutex_;
  Table jobs_ ABSL_GUARDED_BY(mutex_);
  std::set<JobsSubscription*> watchers_of_all_ ABSL_GUARDED_BY(mutex_);

  std::mutex thread_mutex_;
  std::condition_variable closing_changed_;
  bool closing_ ABSL_GUARDED_BY(thread_mutex_) = false;
  bool hurry_ = false;  // something is about to end: poll quickly. Of the polling thread.
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_SERVER_MANAGER_JOB_MANAGER_H_
