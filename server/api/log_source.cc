#include "server/api/log_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

constexpr size_t kBlock = size_t{64} << 10;
constexpr size_t kLinesPerMessage = 1000;

UniqueFd OpenLog(const std::string& path) { return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)); }

// Where the last `tail` lines begin.
int64_t TailOffset(const std::string& path, int tail) {
  const UniqueFd fd = OpenLog(path);
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return 0;
  std::string block(kBlock, '\0');
  int newlines = 0;
  for (int64_t end = info.st_size; end > 0;) {
    const int64_t begin = std::max<int64_t>(0, end - static_cast<int64_t>(kBlock));
    const ssize_t n = pread(fd.get(), block.data(), static_cast<size_t>(end - begin), begin);
    if (n != end - begin) return 0;
    for (int64_t i = n - 1; i >= 0; --i) {
      // The newline that ends the file ends the last line; it does not begin another one.
      if (block[static_cast<size_t>(i)] == '\n' && begin + i != info.st_size - 1 && ++newlines == tail)
        return begin + i + 1;
    }
    end = begin;
  }
  return 0;
}

absl::StatusOr<int> Tail(int tail) {
  if (tail < 0 || tail > kLargestTail) {
    return absl::InvalidArgumentError(absl::StrCat("tail: must be 0 to ", kLargestTail, ", got ", tail));
  }
  return tail == 0 ? kDefaultTail : tail;
}

struct Place {
  std::string job_id;
  int attempt = 0;  // 0: none yet
  int world_size = 1;
};

absl::StatusOr<Place> Locate(JobManager& manager, const std::string& id, int attempt, int rank) {
  DDP_ASSIGN_OR_RETURN(const v1::Job job, manager.Get(id));
  Place place{job.id(), attempt == 0 ? job.attempts_size() : attempt, job.spec().resources().nproc()};
  if (attempt < 0 || attempt > job.attempts_size()) {
    return absl::NotFoundError(
        absl::StrCat("job ", job.id(), " has ", job.attempts_size(), " attempts, no number ", attempt));
  }
  if (rank < -1 || rank >= place.world_size) {
    return absl::NotFoundError(absl::StrCat("job ", job.id(), " has ", place.world_size, " ranks (0 to ",
                                            place.world_size - 1, "), no rank ", rank));
  }
  return place;
}

template <typename Response>
void AddLines(std::vector<std::string> lines, int attempt, int rank, Response& response) {
  for (std::string& line : lines) {
    v1::LogLine& out = *response.add_lines();
    out.set_attempt(attempt);
    out.set_rank(rank);
    out.set_text(std::move(line));
  }
}

}  // namespace

LogFile::LogFile(std::string path, int tail) : path_(std::move(path)) {
  if (tail >= 0) offset_ = TailOffset(path_, tail);
}

std::vector<std::string> LogFile::Lines(size_t max_lines) {
  std::vector<std::string> lines;
  const UniqueFd fd = OpenLog(path_);
  if (!fd.valid()) return lines;
  std::string block(kBlock, '\0');
  while (lines.size() < max_lines) {
    const ssize_t n = pread(fd.get(), block.data(), block.size(), offset_);
    if (n <= 0) break;
    ssize_t used = 0;
    while (used < n && lines.size() < max_lines) {
      const char* begin = block.data() + used;
      const auto* newline = static_cast<const char*>(memchr(begin, '\n', static_cast<size_t>(n - used)));
      const size_t length = newline == nullptr ? static_cast<size_t>(n - used) : static_cast<size_t>(newline - begin);
      // What is longer than a line may be is cut, so that a flood without newlines fills no memory.
      partial_.append(begin, std::min(length, kLongestLine - std::min(partial_.size(), kLongestLine)));
      used += static_cast<ssize_t>(length);
      if (newline == nullptr) break;
      ++used;
      lines.push_back(std::exchange(partial_, {}));
    }
    offset_ += used;
  }
  return lines;
}

std::vector<std::string> LogFile::Rest() {
  if (partial_.empty()) return {};
  return {std::exchange(partial_, {})};
}

absl::StatusOr<v1::ReadLogResponse> ReadLogs(JobManager& manager, const v1::ReadLogRequest& request) {
  DDP_ASSIGN_OR_RETURN(const int tail, Tail(request.tail()));
  DDP_ASSIGN_OR_RETURN(const Place place, Locate(manager, request.job_id(), request.attempt(), request.rank()));
  v1::ReadLogResponse response;
  for (int rank = 0; place.attempt > 0 && rank < place.world_size; ++rank) {
    if (request.rank() >= 0 && rank != request.rank()) continue;
    LogFile file(absl::StrCat(manager.AttemptFolder(place.job_id, place.attempt), "/rank-", rank, ".log"), tail);
    AddLines(file.Lines(static_cast<size_t>(tail)), place.attempt, rank, response);
    AddLines(file.Rest(), place.attempt, rank, response);
  }
  return response;
}

absl::StatusOr<std::unique_ptr<LogFollower>> LogFollower::Make(JobManager& manager,
                                                               const v1::FollowLogRequest& request) {
  DDP_ASSIGN_OR_RETURN(const int tail, Tail(request.tail()));
  DDP_ASSIGN_OR_RETURN(const Place place, Locate(manager, request.job_id(), request.attempt(), request.rank()));
  return std::unique_ptr<LogFollower>(
      new LogFollower(manager, place.job_id, std::max(1, place.attempt), request.rank(), tail));
}

absl::StatusOr<StreamStep> LogFollower::Next(v1::FollowLogResponse& out) {
  out.Clear();
  const bool was_last = last_round_;
  DDP_ASSIGN_OR_RETURN(const v1::Job job, manager_.Get(job_id_));
  for (int attempt = first_attempt_; attempt <= job.attempts_size(); ++attempt) {
    for (int rank = 0; rank < job.spec().resources().nproc(); ++rank) {
      if (rank_ >= 0 && rank != rank_) continue;
      // Only the attempt that is there at the beginning has a tail; later ones are read from their beginning.
      const auto file = files_
                            .try_emplace({attempt, rank},
                                         absl::StrCat(manager_.AttemptFolder(job_id_, attempt), "/rank-", rank, ".log"),
                                         attempt == first_attempt_ ? tail_ : -1)
                            .first;
      AddLines(file->second.Lines(kLinesPerMessage), attempt, rank, out);
      if (was_last) AddLines(file->second.Rest(), attempt, rank, out);
    }
  }
  // The state was read before the files: once it is an end state, one more round has read everything.
  last_round_ = IsEnded(job.state());
  if (out.lines_size() > 0) return StreamStep::kItem;
  if (was_last && last_round_) return StreamStep::kEnd;
  return StreamStep::kPoll;
}

}  // namespace ddp
