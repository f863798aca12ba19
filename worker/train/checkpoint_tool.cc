#include "worker/train/checkpoint_tool.h"

#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "worker/report/checkpoint_io.h"

namespace ddp {

namespace {

absl::StatusOr<int> ParseDescriptor(const std::string& text) {
  int fd = -1;
  if (!absl::SimpleAtoi(text, &fd) || fd < 0) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no descriptor"));
  }
  return fd;
}

std::string Verify(const std::vector<std::string>& folders) {
  std::vector<std::pair<std::string, std::vector<Damage>>> checked;
  for (const std::string& folder : folders) checked.emplace_back(folder, FindDamage(folder));
  return SerializeConditions(checked);
}

// What was converted is on the disk when this answers.
absl::StatusOr<std::string> Finish(const absl::StatusOr<Converted>& converted, int fd) {
  if (!converted.ok()) return converted.status();
  if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS) return ErrnoStatus(errno, "cannot sync");
  return SerializeConverted(*converted);
}

absl::StatusOr<std::string> Export(const std::string& folder, const std::string& format, const std::string& out) {
  DDP_ASSIGN_OR_RETURN(const int fd, ParseDescriptor(out));
  if (format != "pt" && format != "safetensors") {
    return absl::InvalidArgumentError(absl::StrCat("unknown format \"", format, "\": pt or safetensors"));
  }
  return Finish(ExportModel(folder, format == "pt" ? WeightsFormat::kPt : WeightsFormat::kSafetensors, fd), fd);
}

absl::StatusOr<std::string> Import(const std::string& file, const std::string& out) {
  DDP_ASSIGN_OR_RETURN(const int fd, ParseDescriptor(out));
  return Finish(ImportModel(file, fd), fd);
}

}  // namespace

std::optional<int> RunCheckpointTool(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return std::nullopt;
  const std::string& verb = arguments[0];
  absl::StatusOr<std::string> answer = absl::UnknownError("");
  if (verb == "--list" && arguments.size() == 2) {
    answer = SerializeDescriptions(DescribeCheckpoints(arguments[1]));
  } else if (verb == "--verify") {
    answer = Verify({arguments.begin() + 1, arguments.end()});
  } else if (verb == "--export" && arguments.size() == 4) {
    answer = Export(arguments[1], arguments[2], arguments[3]);
  } else if (verb == "--import" && arguments.size() == 3) {
    answer = Import(arguments[1], arguments[2]);
  } else {
    return std::nullopt;
  }
  if (!answer.ok()) {
    std::cerr << answer.status().message() << std::endl;
    return 64 + static_cast<int>(answer.status().code());
  }
  std::cout << *answer << std::flush;
  return 0;
}

}  // namespace ddp
