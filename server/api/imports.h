// The weights that clients have imported: $DDPD_HOME/imports/ID/model.safetensors.
#ifndef DDP_SERVER_API_IMPORTS_H_
#define DDP_SERVER_API_IMPORTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ddp/v1/checkpoint.pb.h"
#include "server/manager/job_manager.h"

namespace ddp {

// An import is a folder there, with its id as its name, and this file in it.
std::string ImportsFolder(const std::string& home);
inline constexpr char kImportedFile[] = "model.safetensors";
// Begins the names of uploads that are not complete, and of imports that are being removed.
inline constexpr char kImportTemporary[] = ".tmp-";

// Oldest first, with the jobs that use them.
absl::StatusOr<v1::ListImportsResponse> ListImports(JobManager& manager, const std::string& home);

// name: as in DeleteImportRequest.
absl::StatusOr<v1::DeleteImportResponse> DeleteImport(JobManager& manager, const std::string& home,
                                                      const std::string& name);

// What a crash left of uploads and of deletions.
void RemoveUnfinishedImports(const std::string& home);

}  // namespace ddp

#endif  // DDP_SERVER_API_IMPORTS_H_
