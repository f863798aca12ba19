#include "runner/system_probe.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace ddp {

namespace {

// Empty: there is no such file. Files of /proc have no size.
std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<ProcessUse> MachineProbe::Process(pid_t pid) {
  const std::string stat = ReadAll(absl::StrCat(proc_, "/", pid, "/stat"));
  // proc(5): pid (name) state ppid ... utime is field 14, stime 15. A name may hold anything, even parentheses.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string state;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  std::string skipped;
  for (int field = 4; field < 14; ++field) fields >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  fields >> user >> system;
  std::istringstream pages(ReadAll(absl::StrCat(proc_, "/", pid, "/statm")));
  int64_t size = 0;
  int64_t resident = 0;
  pages >> size >> resident;
  if (!fields || !pages) return std::nullopt;
  return ProcessUse{.cpu = absl::Seconds(user + system) / sysconf(_SC_CLK_TCK),
                    .rss_bytes = resident * sysconf(_SC_PAGESIZE)};
}

std::vector<GpuUse> MachineProbe::Gpus() {
  if (gpus_.empty()) return {};
  if (monitor_ == nullptr) monitor_ = std::make_unique<GpuMonitor>(gpus_);
  return monitor_->Take();
}

}  // namespace ddp
