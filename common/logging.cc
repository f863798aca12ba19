#include "common/logging.h"

#include <fcntl.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>

#include "common/text.h"

namespace ddp {
namespace {

spdlog::logger& Logger() {
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger("ddp", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L %v", spdlog::pattern_time_type::utc);
    made->flush_on(spdlog::level::trace);
    made->set_error_handler([](const std::string&) {});
    return made;
  }();
  return *logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

// A standard descriptor that is closed would be given to the next file we open, and log lines would land in that file.
void OpenMissingStandardDescriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int null_fd = open("/dev/null", O_RDWR);  // the lowest free number, so it is fd
    if (null_fd >= 0 && null_fd != fd) {
      dup2(null_fd, fd);
      close(null_fd);
    }
  }
}

}  // namespace

void InitLogging(LogLevel minimum) {
  OpenMissingStandardDescriptors();
  std::signal(SIGPIPE, SIG_IGN);
  Logger().set_level(ToSpdlog(minimum));
}

void Log(LogLevel level, std::string_view text) {
  spdlog::logger& logger = Logger();
  if (!logger.should_log(ToSpdlog(level))) return;
  logger.log(ToSpdlog(level), spdlog::string_view_t(EscapeControls(text)));
}

}  // namespace ddp
