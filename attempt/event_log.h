// events.log: what happened in an attempt, as frames of RunnerEvent in the order of their seq. It is written before
// anything is sent, so that a lost connection or a dead coordinator loses nothing.
#ifndef DDP_ATTEMPT_EVENT_LOG_H_
#define DDP_ATTEMPT_EVENT_LOG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/framing.h"
#include "ddp/v1/runner.pb.h"

namespace ddp {

inline constexpr char kEventLogName[] = "events.log";
inline constexpr char kExitRecordName[] = "exit.pb";
inline constexpr char kLaunchName[] = "launch.pb";
inline constexpr char kLockName[] = "runner.lock";

// Writes. Not thread-safe. Numbers and times the events. What cannot be written now (a full disk) is kept and tried
// again with the next event. Once kept_bytes of it wait, reports of metrics and progress are let go, so that training
// may go on for as long as it takes to make room; a notice says how many they were. All else is always kept.
class EventLog {
 public:
  static constexpr size_t kKeptBytes = size_t{64} << 20;
  static absl::StatusOr<EventLog> Open(const std::string& attempt_dir, Clock& clock, size_t kept_bytes = kKeptBytes);

  // Takes an event without seq and time. OK: it is in the file, and so are all before it that were not let go.
  absl::Status Append(v1::RunnerEvent event);
  // Tries again to write what is kept.
  absl::Status Flush();
  // Of the newest event in the file.
  uint64_t written_seq() const { return written_seq_; }

 private:
  EventLog(UniqueFd fd, Clock& clock, size_t kept_bytes)
      : fd_(std::move(fd)), clock_(&clock), kept_bytes_(kept_bytes) {}

  void Keep(v1::RunnerEvent event);
  v1::RunnerEvent LostNotice() const;

  UniqueFd fd_;
  Clock* clock_;
  uint64_t seq_ = 0;
  uint64_t written_seq_ = 0;
  int64_t size_ = 0;     // of what has been written; pending_ goes on there, perhaps inside a frame
  std::string pending_;  // not written yet
  size_t kept_bytes_;
  int64_t lost_ = 0;  // reports that were let go since the last event that was kept
};

// Reads a file that may still grow, from the beginning. Not thread-safe.
class EventLogReader {
 public:
  explicit EventLogReader(const std::string& attempt_dir);
  // The next event; unset: not written yet (or the file does not exist yet). DataLoss for bytes that are no event.
  absl::StatusOr<std::optional<v1::RunnerEvent>> Next();

 private:
  std::string path_;
  UniqueFd fd_;
  FrameDecoder decoder_;
};

}  // namespace ddp

#endif  // DDP_ATTEMPT_EVENT_LOG_H_
