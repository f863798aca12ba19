#include "server/jobs/spec_checker.h"

#include "absl/strings/str_cat.h"
#include "common/process.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

// The end says why; all of it would not fit into the metadata that carries a status.
std::string Tail(const std::string& text) {
  constexpr size_t kShown = 1000;
  return text.size() <= kShown ? text : "..." + text.substr(text.size() - kShown);
}

}  // namespace

absl::StatusOr<v1::CheckResult> WorkerSpecChecker::Check(const v1::CheckRequest& request) {
  SpawnOptions options;
  options.argv = {worker_binary_, "--check"};
  options.environment = AllowedEnvironment();
  options.environment.push_back("OMP_NUM_THREADS=1");
  options.new_process_group = true;
  DDP_ASSIGN_OR_RETURN(const RunResult result, Run(std::move(options), request.SerializeAsString(), absl::Seconds(10)));
  v1::CheckResult answer;
  if (!result.status.ok() || !answer.ParseFromString(result.stdout_text)) {
    return absl::InternalError(absl::StrCat("the check of the spec (", worker_binary_, " --check) ended with ",
                                            result.status.ToString(), ": ", Tail(result.stderr_text)));
  }
  return answer;
}

}  // namespace ddp
