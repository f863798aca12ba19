// Run(): a child process from start to end, with its standard streams.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/process.h"
#include "common/status_macros.h"

namespace ddp {
namespace {

constexpr size_t kMaxStderr = size_t{64} << 10;

absl::StatusOr<std::pair<UniqueFd, UniqueFd>> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot make a pipe");
  std::pair<UniqueFd, UniqueFd> ends{UniqueFd(fds[0]), UniqueFd(fds[1])};
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return ends;
}

// Moves what can be moved now. Closes `fd` at the end of the stream.
void ReadSome(UniqueFd& fd, std::string& out, size_t keep, bool& overflow) {
  std::array<char, 65536> chunk{};
  while (fd.valid()) {
    const ssize_t n = read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      fd = UniqueFd();
      return;
    }
    const size_t room = keep - std::min(keep, out.size());
    out.append(chunk.data(), std::min(room, static_cast<size_t>(n)));
    if (static_cast<size_t>(n) > room) overflow = true;
  }
}

// Closes `fd` when everything is written or nobody reads any more.
void WriteSome(UniqueFd& fd, std::string_view& rest) {
  while (fd.valid() && !rest.empty()) {
    const ssize_t n = send(fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) break;
    rest.remove_prefix(static_cast<size_t>(n));
  }
  fd = UniqueFd();
}

class Runner {
 public:
  Runner(const std::string& input, size_t max_output) : input_(input), max_output_(max_output) {}

  absl::Status Start(SpawnOptions options) {
    // A socket instead of a pipe: writing to a child that does not read must not raise SIGPIPE here.
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
      return ErrnoStatus(errno, "cannot make a socket pair");
    }
    in_ = UniqueFd(sockets[0]);
    const UniqueFd child_in(sockets[1]);
    DDP_ASSIGN_OR_RETURN(auto out, MakePipe());
    DDP_ASSIGN_OR_RETURN(auto err, MakePipe());
    out_ = std::move(out.first);
    err_ = std::move(err.first);
    options.fds.insert(options.fds.end(), {{child_in.get(), 0}, {out.second.get(), 1}, {err.second.get(), 2}});
    // A group of its own, so that what it started ends with it.
    options.new_process_group = !options.new_session;
    DDP_ASSIGN_OR_RETURN(child_, Spawn(options));
    return absl::OkStatus();
  }

  // Unset: the deadline passed first, or the output was too long.
  bool WaitUntil(absl::Duration deadline) {
    while (true) {
      Move();
      if (too_long_) return false;
      if (status_.has_value()) return true;
      const absl::Duration left = deadline - Clock::System().Monotonic();
      if (left <= absl::ZeroDuration()) return false;
      std::array<pollfd, 4> waits{
          {{child_.pidfd.get(), POLLIN, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}, {in_.get(), POLLOUT, 0}}};
      poll(waits.data(), waits.size(), static_cast<int>(absl::ToInt64Milliseconds(std::min(left, absl::Hours(1)))) + 1);
    }
  }

  void Kill() {
    kill(-child_.pid, SIGKILL);
    if (!status_.has_value()) Reap(child_.pid, /*wait=*/true);
  }
  bool too_long() const { return too_long_; }
  RunResult Take() { return {*status_, std::move(out_text_), std::move(err_text_)}; }

 private:
  void Move() {
    WriteSome(in_, input_);
    // Asked first: what the child wrote before it ended is then read below. Its own children may keep the pipes open.
    if (!status_.has_value()) status_ = Reap(child_.pid, /*wait=*/false);
    bool ignored = false;
    ReadSome(out_, out_text_, max_output_, too_long_);
    ReadSome(err_, err_text_, kMaxStderr, ignored);
  }

  std::string_view input_;
  const size_t max_output_;
  Child child_;
  UniqueFd in_;
  UniqueFd out_;
  UniqueFd err_;
  std::string out_text_;
  std::string err_text_;
  bool too_long_ = false;
  std::optional<ExitStatus> status_;
};

}  // namespace

absl::StatusOr<RunResult> Run(SpawnOptions options, const std::string& input, absl::Duration timeout,
                              size_t max_output) {
  const std::string program = options.argv.empty() ? "" : options.argv[0];
  Runner runner(input, max_output);
  DDP_RETURN_IF_ERROR(runner.Start(std::move(options)));
  const bool ended = runner.WaitUntil(Clock::System().Monotonic() + timeout);
  if (ended) return runner.Take();
  runner.Kill();
  if (runner.too_long()) {
    return absl::OutOfRangeError(absl::StrCat(program, " wrote more than ", max_output, " bytes"));
  }
  return absl::DeadlineExceededError(absl::StrCat(program, " did not end within ", absl::FormatDuration(timeout)));
}

}  // namespace ddp
