// The log files of a job's ranks.
#ifndef DDP_SERVER_API_LOG_SOURCE_H_
#define DDP_SERVER_API_LOG_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ddp/v1/log.pb.h"
#include "server/manager/job_manager.h"
#include "server/stream_step.h"

namespace ddp {

inline constexpr int kDefaultTail = 1000;
inline constexpr int kLargestTail = 100000;
inline constexpr size_t kLongestLine = size_t{64} << 10;

// Reads one file that may grow, line by line. A line without its newline is given out only by Rest().
class LogFile {
 public:
  // Begins `tail` lines before the end; tail < 0: at the beginning.
  LogFile(std::string path, int tail);
  // Whole lines since the last call, at most max_lines.
  std::vector<std::string> Lines(size_t max_lines);
  // What stands behind the last newline.
  std::vector<std::string> Rest();

 private:
  std::string path_;
  int64_t offset_ = 0;
  std::string partial_;
};

// The last lines of one attempt.
absl::StatusOr<v1::ReadLogResponse> ReadLogs(JobManager& manager, const v1::ReadLogRequest& request);

// The source of Follow. Next() by one thread at a time.
class LogFollower {
 public:
  static absl::StatusOr<std::unique_ptr<LogFollower>> Make(JobManager& manager, const v1::FollowLogRequest& request);
  absl::StatusOr<StreamStep> Next(v1::FollowLogResponse& out);

 private:
  LogFollower(JobManager& manager, std::string job_id, int first_attempt, int rank, int tail)
      : manager_(manager), job_id_(std::move(job_id)), first_attempt_(first_attempt), rank_(rank), tail_(tail) {}

  JobManager& manager_;
  const std::string job_id_;
  const int first_attempt_;
  const int rank_;
  const int tail_;
  std::map<std::pair<int, int>, LogFile> files_;  // by attempt and rank
  bool last_round_ = false;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_LOG_SOURCE_H_
