#include "server/api/weights_export.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/checkpoint_folders.h"
#include "common/status_macros.h"
#include "server/jobs/checkpoints.h"
#include "spec/excerpt.h"
#include "spec/init_from.h"

namespace ddp {

namespace {

constexpr int64_t kPiece = int64_t{1} << 20;

absl::StatusOr<UniqueFd> NamelessFile(const std::string& folder) {
  std::string path = folder + "/.export-XXXXXX";
  UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make a file in ", folder));
  unlink(path.c_str());
  return fd;
}

}  // namespace

absl::StatusOr<int64_t> ResolveCheckpoint(const std::string& checkpoints_dir, const std::string& which) {
  const std::vector<CheckpointFolder> checkpoints = CommittedCheckpoints(checkpoints_dir);
  if (checkpoints.empty()) return absl::NotFoundError("the job has no checkpoint");
  const std::optional<int64_t> choice = ParseCheckpointChoice(which.empty() ? "last" : which);
  if (!choice) {
    return absl::InvalidArgumentError(absl::StrCat("a checkpoint is last, best, or a step, got ", Excerpt(which)));
  }
  if (const auto found = FindCheckpoint(checkpoints_dir, *choice)) return found->step;
  if (*choice == InitFrom::kBest) {
    return absl::NotFoundError(
        absl::StrCat("the job has no best checkpoint: it has not validated yet, or keeps none; "
                     "its steps are ",
                     StepsText(checkpoints)));
  }
  return absl::NotFoundError(
      absl::StrCat("the job has no checkpoint of step ", *choice, "; its steps are ", StepsText(checkpoints)));
}

absl::StatusOr<std::unique_ptr<WeightsExport>> WeightsExport::Make(JobManager& manager, CheckpointTool& tool,
                                                                   const std::string& home,
                                                                   const v1::ExportCheckpointRequest& request) {
  if (request.format() != v1::WEIGHTS_FORMAT_PT && request.format() != v1::WEIGHTS_FORMAT_SAFETENSORS) {
    return absl::InvalidArgumentError("format must be WEIGHTS_FORMAT_PT or WEIGHTS_FORMAT_SAFETENSORS");
  }
  DDP_ASSIGN_OR_RETURN(const v1::Job job, manager.Get(request.job_id()));
  const std::string folder = manager.CheckpointFolderOf(job.id());
  DDP_ASSIGN_OR_RETURN(const int64_t step, ResolveCheckpoint(folder, request.checkpoint()));
  const std::string checkpoint = absl::StrCat(folder, "/", CheckpointName(step));
  DDP_ASSIGN_OR_RETURN(UniqueFd file, NamelessFile(home));
  absl::StatusOr<v1::WeightsHeader> header = tool.Export(checkpoint, request.format(), file.get());
  if (!header.ok() && !Exists(absl::StrCat(checkpoint, "/", kManifestName))) {
    return absl::NotFoundError(
        absl::StrCat("the checkpoint of step ", step,
                     " was removed meanwhile: the job goes on and keeps its newest ones; try again"));
  }
  if (!header.ok()) return header.status();
  header->set_name(absl::StrCat(job.id(), "-", CheckpointName(step),
                                request.format() == v1::WEIGHTS_FORMAT_PT ? ".pt" : ".safetensors"));
  header->set_step(step);
  return std::unique_ptr<WeightsExport>(new WeightsExport(*std::move(header), std::move(file)));
}

absl::StatusOr<StreamStep> WeightsExport::Next(v1::ExportCheckpointResponse& message) {
  if (!begun_) {
    begun_ = true;
    *message.mutable_header() = header_;
    return StreamStep::kItem;
  }
  if (sent_ == header_.bytes()) return StreamStep::kEnd;
  std::string& piece = *message.mutable_piece();
  piece.resize(static_cast<size_t>(std::min(kPiece, header_.bytes() - sent_)));
  const ssize_t n = pread(file_.get(), piece.data(), piece.size(), sent_);
  if (n <= 0) return absl::InternalError("cannot read what was just written");
  piece.resize(static_cast<size_t>(n));
  sent_ += n;
  return StreamStep::kItem;
}

}  // namespace ddp
