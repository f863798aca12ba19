// The program log: one line per message on standard error, "2026-12-01T06:44:00.123Z I text". Control characters in
// text are escaped, so that names from users cannot forge lines or move the cursor. Thread-safe. Never logs secrets:
// callers must not pass them.
#ifndef DDP_COMMON_LOGGING_H_
#define DDP_COMMON_LOGGING_H_

#include <string_view>

namespace ddp {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Call once, before other threads. A closed standard error never stops the program: SIGPIPE is ignored from here on,
// and missing standard descriptors are opened on /dev/null.
void InitLogging(LogLevel minimum);
void Log(LogLevel level, std::string_view text);

inline void LogInfo(std::string_view text) { Log(LogLevel::kInfo, text); }
inline void LogWarning(std::string_view text) { Log(LogLevel::kWarning, text); }
inline void LogError(std::string_view text) { Log(LogLevel::kError, text); }

}  // namespace ddp

#endif  // DDP_COMMON_LOGGING_H_
