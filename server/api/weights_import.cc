#include "server/api/weights_import.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/ids.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "server/api/imports.h"
#include "spec/excerpt.h"

namespace ddp {

namespace {

// What running jobs must still be able to write.
constexpr uint64_t kReserve = uint64_t{64} << 20;

// The upload and what becomes of it lie side by side for a while.
absl::Status CheckRoom(const std::string& folder, uint64_t bytes) {
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("cannot look at ", folder));
  const uint64_t free = static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  if (free / 2 >= bytes && free - 2 * bytes >= kReserve) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(folder, " has ", free, " bytes free; an import of ", bytes, " bytes needs ", 2 * bytes + kReserve));
}

absl::StatusOr<UniqueFd> MakeFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make ", path));
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WeightsImport>> WeightsImport::Begin(const std::string& home,
                                                                    const v1::WeightsHeader& header) {
  if (header.bytes() <= 0) return absl::InvalidArgumentError("header.bytes must say how many bytes will come");
  if (header.bytes() > kLargestImport) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a file of ", header.bytes(), " bytes; at most ", kLargestImport, " are taken"));
  }
  const std::string folder = ImportsFolder(home);
  DDP_RETURN_IF_ERROR(MakeFolders(folder));
  DDP_RETURN_IF_ERROR(CheckRoom(folder, static_cast<uint64_t>(header.bytes())));
  std::unique_ptr<WeightsImport> import(new WeightsImport(folder, MakeJobId(absl::Now(), RandomBits())));
  import->shown_name_ = header.name().empty() ? "the upload" : Excerpt(header.name());
  import->announced_ = header.bytes();
  DDP_RETURN_IF_ERROR(MakeFolders(import->temporary()));
  DDP_ASSIGN_OR_RETURN(import->upload_, MakeFile(import->temporary() + "/upload"));
  return import;
}

WeightsImport::~WeightsImport() {
  if (const absl::Status status = RemoveTree(temporary()); !status.ok()) LogWarning(std::string(status.message()));
}

std::string WeightsImport::temporary() const { return absl::StrCat(folder_, "/", kImportTemporary, id_); }

absl::Status WeightsImport::Append(std::string_view piece) {
  received_ += static_cast<int64_t>(piece.size());
  if (received_ > announced_) {
    return absl::InvalidArgumentError(absl::StrCat("more than the ", announced_, " bytes that the header announced"));
  }
  const absl::Status status = WriteAll(upload_.get(), piece);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("cannot store the upload in ", folder_, ": ", std::string(status.message())));
}

absl::StatusOr<v1::ImportCheckpointResponse> WeightsImport::Finish(CheckpointTool& tool) {
  if (received_ != announced_) {
    return absl::InvalidArgumentError(
        absl::StrCat(received_, " bytes came instead of the ", announced_, " that the header announced"));
  }
  upload_ = UniqueFd();
  const std::string upload = temporary() + "/upload";
  DDP_ASSIGN_OR_RETURN(const UniqueFd out, MakeFile(absl::StrCat(temporary(), "/", kImportedFile)));
  const absl::StatusOr<v1::WeightsHeader> header = tool.Import(upload, out.get());
  if (!header.ok()) {
    // The client knows its file by another name.
    return absl::Status(header.status().code(),
                        absl::StrReplaceAll(std::string(header.status().message()), {{upload, shown_name_}}));
  }
  if (unlink(upload.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("cannot remove ", upload));
  DDP_RETURN_IF_ERROR(FsyncFolder(temporary()));
  const std::string target = absl::StrCat(folder_, "/", id_);
  if (rename(temporary().c_str(), target.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot rename ", temporary(), " to ", target));
  }
  DDP_RETURN_IF_ERROR(FsyncFolder(folder_));
  v1::ImportCheckpointResponse response;
  response.set_id(id_);
  response.set_path(absl::StrCat(target, "/", kImportedFile));
  response.set_bytes(header->bytes());
  response.set_xxh3_128(header->xxh3_128());
  response.set_tensors(header->tensors());
  return response;
}

}  // namespace ddp
