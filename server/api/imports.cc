#include "server/api/imports.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/files.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "server/store/convert.h"
#include "spec/excerpt.h"

namespace ddp {

namespace {

// Oldest first: names begin with the time.
absl::StatusOr<std::vector<v1::ImportedWeights>> AllImports(const std::string& home) {
  std::vector<v1::ImportedWeights> imports;
  const std::string folder = ImportsFolder(home);
  if (!Exists(folder)) return imports;  // nothing was ever imported
  DDP_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    if (name.rfind(kImportTemporary, 0) == 0) continue;
    const std::string path = absl::StrCat(folder, "/", name, "/", kImportedFile);
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) continue;  // deleted meanwhile
    v1::ImportedWeights& weights = imports.emplace_back();
    weights.set_id(name);
    weights.set_path(path);
    weights.set_bytes(info.st_size);
    *weights.mutable_time() = ToTimestamp(absl::TimeFromTimespec(info.st_mtim));
  }
  return imports;
}

absl::StatusOr<std::string> FindImport(const std::string& home, const std::string& name) {
  DDP_ASSIGN_OR_RETURN(const std::vector<v1::ImportedWeights> all, AllImports(home));
  std::vector<std::string> found;
  for (const v1::ImportedWeights& weights : all) {
    if (name == weights.path() || name == weights.id()) return weights.id();
    if (!name.empty() && weights.id().rfind(name, 0) == 0) found.push_back(weights.id());
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there are no imported weights ", Excerpt(name), "; `ddpctl checkpoints imports` shows them"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("several imports begin with ", name, ": ", found[0], ", ", found[1], "; give more of the id"));
}

}  // namespace

std::string ImportsFolder(const std::string& home) { return home + "/imports"; }

absl::StatusOr<v1::ListImportsResponse> ListImports(JobManager& manager, const std::string& home) {
  DDP_ASSIGN_OR_RETURN(std::vector<v1::ImportedWeights> all, AllImports(home));
  v1::ListImportsResponse response;
  for (v1::ImportedWeights& weights : all) {
    for (const std::string& id : manager.JobsThatStartFrom(absl::StrCat(ImportsFolder(home), "/", weights.id()))) {
      weights.add_job_ids(id);
    }
    *response.add_imports() = std::move(weights);
  }
  return response;
}

absl::StatusOr<v1::DeleteImportResponse> DeleteImport(JobManager& manager, const std::string& home,
                                                      const std::string& name) {
  DDP_ASSIGN_OR_RETURN(const std::string id, FindImport(home, name));
  const std::string folder = absl::StrCat(ImportsFolder(home), "/", id);
  if (const std::vector<std::string> jobs = manager.JobsThatStartFrom(folder); !jobs.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot delete the imported weights ", id, ": ", jobs.size() == 1 ? "job " : "the jobs ",
        absl::StrJoin(jobs, ", "), " may still start from them; cancel ", jobs.size() == 1 ? "it" : "them", " first"));
  }
  // Gone at once under its name; what a crash leaves of it is removed by the next start.
  const std::string going = absl::StrCat(ImportsFolder(home), "/", kImportTemporary, id);
  if (rename(folder.c_str(), going.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot rename ", folder, " to ", going));
  }
  DDP_RETURN_IF_ERROR(RemoveTree(going));
  v1::DeleteImportResponse response;
  response.set_id(id);
  return response;
}

void RemoveUnfinishedImports(const std::string& home) {
  const absl::StatusOr<std::vector<std::string>> names = ListFolder(ImportsFolder(home));
  if (!names.ok()) return;  // nothing was ever imported
  for (const std::string& name : *names) {
    if (name.rfind(kImportTemporary, 0) != 0) continue;
    const absl::Status status = RemoveTree(absl::StrCat(ImportsFolder(home), "/", name));
    if (!status.ok()) LogWarning(std::string(status.message()));
  }
}

}  // namespace ddp
