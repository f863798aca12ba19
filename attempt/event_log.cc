#include "attempt/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

bool CanBeLost(const v1::RunnerEvent& event) {
  return event.from_rank().event().has_metrics() || event.from_rank().event().has_progress();
}

}  // namespace

absl::StatusOr<EventLog> EventLog::Open(const std::string& attempt_dir, Clock& clock, size_t kept_bytes) {
  const std::string path = absl::StrCat(attempt_dir, "/", kEventLogName);
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make ", path));
  return EventLog(std::move(fd), clock, kept_bytes);
}

absl::Status EventLog::Append(v1::RunnerEvent event) {
  if (pending_.size() >= kept_bytes_ && CanBeLost(event)) {
    const absl::Status status = Flush();
    if (!status.ok()) {
      ++lost_;
      return status;
    }
  }
  if (lost_ > 0) Keep(LostNotice());
  lost_ = 0;
  Keep(std::move(event));
  return Flush();
}

void EventLog::Keep(v1::RunnerEvent event) {
  event.set_seq(++seq_);
  event.set_time(absl::ToDoubleSeconds(clock_->Now() - absl::UnixEpoch()));
  pending_ += EncodeFrame(event.SerializeAsString());
}

v1::RunnerEvent EventLog::LostNotice() const {
  v1::RunnerEvent event;
  event.mutable_from_rank()->mutable_event()->mutable_notice()->set_text(absl::StrCat(
      "lost reports of metrics and progress: ", lost_, ". ", kEventLogName, " could not be written for so long that ",
      kept_bytes_ >> 20, " MiB of it waited; make room on the disk"));
  return event;
}

absl::Status EventLog::Flush() {
  while (!pending_.empty()) {
    // At the place where it belongs, whatever a failed write has left there: half a frame is only ever the end of the
    // file, and what is written again is the same bytes, so that a reader who has seen a part of them is not misled.
    const ssize_t n = pwrite(fd_.get(), pending_.data(), pending_.size(), size_);
    if (n >= 0) {
      size_ += n;
      pending_.erase(0, static_cast<size_t>(n));
    } else if (errno != EINTR) {
      return ErrnoStatus(errno, "cannot write events.log");
    }
  }
  written_seq_ = seq_;
  return absl::OkStatus();
}

EventLogReader::EventLogReader(const std::string& attempt_dir) : path_(absl::StrCat(attempt_dir, "/", kEventLogName)) {}

absl::StatusOr<std::optional<v1::RunnerEvent>> EventLogReader::Next() {
  if (!fd_.valid()) fd_ = UniqueFd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd_.valid()) {
    if (errno == ENOENT) return std::nullopt;
    return ErrnoStatus(errno, absl::StrCat("cannot open ", path_));
  }
  for (;;) {
    DDP_ASSIGN_OR_RETURN(const std::optional<std::string> frame, decoder_.Next());
    if (frame) {
      v1::RunnerEvent event;
      if (!event.ParseFromString(*frame)) return absl::DataLossError(absl::StrCat(path_, ": not an event"));
      return event;
    }
    char buffer[1 << 16];
    const ssize_t n = read(fd_.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("cannot read ", path_));
    if (n == 0) return std::nullopt;
    decoder_.Append({buffer, static_cast<size_t>(n)});
  }
}

}  // namespace ddp
