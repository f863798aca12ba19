#include "server/api/checkpoint_tool.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

constexpr int kOut = 3;
// The worker's exit codes for errors: this and the status code.
constexpr int kFirstErrorCode = 64;
constexpr absl::Duration kQuick = absl::Seconds(30);
constexpr absl::Duration kWholeFiles = absl::Minutes(10);

// One of the calls at work, for as long as it lives.
class Turn {
 public:
  explicit Turn(std::atomic<int>& at_work) : at_work_(at_work), number_(++at_work) {}
  ~Turn() { --at_work_; }
  bool granted() const { return number_ <= CheckpointTool::kMostAtOnce; }

 private:
  std::atomic<int>& at_work_;
  const int number_;
};

}  // namespace

absl::StatusOr<std::string> CheckpointTool::Ask(const std::vector<std::string>& arguments, int out,
                                                absl::Duration timeout) {
  const Turn turn(at_work_);
  if (!turn.granted()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kMostAtOnce, " calls read or write checkpoints already; try again in a while"));
  }
  SpawnOptions options;
  options.argv = {worker_binary_};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = AllowedEnvironment();
  options.environment.push_back("OMP_NUM_THREADS=1");
  if (out >= 0) options.fds.emplace_back(out, kOut);
  DDP_ASSIGN_OR_RETURN(RunResult result, Run(std::move(options), "", timeout));
  if (result.status.ok()) return std::move(result.stdout_text);
  std::string text(absl::StripAsciiWhitespace(result.stderr_text));
  const int code = result.status.exit_code - kFirstErrorCode;
  if (code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::Status(static_cast<absl::StatusCode>(code), text);
  }
  return absl::InternalError(absl::StrCat(worker_binary_, " ", arguments[0], " ended with ", result.status.ToString(),
                                          text.empty() ? "" : ": ", text));
}

template <typename Answer>
absl::StatusOr<Answer> CheckpointTool::AskFor(const std::vector<std::string>& arguments, int out,
                                              absl::Duration timeout) {
  DDP_ASSIGN_OR_RETURN(const std::string text, Ask(arguments, out, timeout));
  Answer answer;
  if (!answer.ParseFromString(text)) {
    return absl::InternalError(absl::StrCat("the answer of ", worker_binary_, " ", arguments[0], " is none"));
  }
  return answer;
}

absl::StatusOr<v1::ListCheckpointsResponse> CheckpointTool::List(const std::string& checkpoints_dir) {
  return AskFor<v1::ListCheckpointsResponse>({"--list", checkpoints_dir}, -1, kQuick);
}

absl::StatusOr<v1::VerifyCheckpointsResponse> CheckpointTool::Verify(const std::vector<std::string>& folders) {
  std::vector<std::string> arguments{"--verify"};
  arguments.insert(arguments.end(), folders.begin(), folders.end());
  return AskFor<v1::VerifyCheckpointsResponse>(arguments, -1, kWholeFiles);
}

absl::StatusOr<v1::WeightsHeader> CheckpointTool::Export(const std::string& folder, v1::WeightsFormat format, int out) {
  const std::string name = format == v1::WEIGHTS_FORMAT_PT ? "pt" : "safetensors";
  return AskFor<v1::WeightsHeader>({"--export", folder, name, absl::StrCat(kOut)}, out, kWholeFiles);
}

absl::StatusOr<v1::WeightsHeader> CheckpointTool::Import(const std::string& file, int out) {
  return AskFor<v1::WeightsHeader>({"--import", file, absl::StrCat(kOut)}, out, kWholeFiles);
}

}  // namespace ddp
