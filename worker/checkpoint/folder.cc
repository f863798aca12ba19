#include "worker/checkpoint/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

using Json = nlohmann::json;

constexpr char kTemporaryPrefix[] = ".tmp-";

std::string HashText(const XXH128_hash_t& hash) { return absl::StrFormat("%016x%016x", hash.high64, hash.low64); }

class RealDisk final : public CheckpointDisk {
 public:
  absl::Status Write(int fd, std::string_view bytes) override { return WriteAll(fd, bytes); }
  absl::Status Sync(int fd) override { return fsync(fd) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "cannot sync"); }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), Exists(to) ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0) {
      return ErrnoStatus(errno, absl::StrCat("cannot rename ", from, " to ", to));
    }
    return RemoveTree(from);  // after an exchange the old folder stands there
  }
};

// Counts and hashes what passes.
class HashedFile final : public CheckpointFile {
 public:
  HashedFile(int fd, CheckpointDisk& disk) : fd_(fd), disk_(disk) { XXH3_128bits_reset(&state_); }
  absl::Status Append(std::string_view bytes) override {
    DDP_RETURN_IF_ERROR(disk_.Write(fd_, bytes));
    XXH3_128bits_update(&state_, bytes.data(), bytes.size());
    size_ += bytes.size();
    return absl::OkStatus();
  }
  Json entry() const { return {{"bytes", size_}, {"xxh3_128", HashText(XXH3_128bits_digest(&state_))}}; }

 private:
  int fd_;
  CheckpointDisk& disk_;
  XXH3_state_t state_{};
  uint64_t size_ = 0;
};

absl::StatusOr<Json> WriteOne(const std::string& path, const FileToWrite& file, CheckpointDisk& disk) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make ", path));
  HashedFile hashed(fd.get(), disk);
  absl::Status status = file.write(hashed);
  if (status.ok()) status = disk.Sync(fd.get());
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat(path, ": ", std::string(status.message())));
  return hashed.entry();
}

absl::Status WriteFolder(const std::string& folder, int64_t step, int attempt, const std::vector<FileToWrite>& files,
                         CheckpointDisk& disk) {
  DDP_RETURN_IF_ERROR(MakeFolders(folder));
  Json manifest{{"format_version", kCheckpointFormat}, {"step", step}, {"attempt", attempt}, {"files", Json::object()}};
  for (const FileToWrite& file : files) {
    DDP_ASSIGN_OR_RETURN(manifest["files"][file.name], WriteOne(absl::StrCat(folder, "/", file.name), file, disk));
  }
  const std::string text = manifest.dump(1) + "\n";
  const FileToWrite last{kManifestName, [&](CheckpointFile& out) { return out.Append(text); }};
  DDP_RETURN_IF_ERROR(WriteOne(absl::StrCat(folder, "/", kManifestName), last, disk).status());
  return FsyncFolder(folder);
}

absl::StatusOr<std::string> HashFile(const std::string& path, uint64_t expected_bytes) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || static_cast<uint64_t>(info.st_size) != expected_bytes) {
    return absl::DataLossError(
        absl::StrCat(path, ": ", info.st_size, " bytes instead of the ", expected_bytes, " that were saved"));
  }
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::string buffer(size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("cannot read ", path));
    if (n == 0) break;
    XXH3_128bits_update(&state, buffer.data(), static_cast<size_t>(n));
  }
  return HashText(XXH3_128bits_digest(&state));
}

}  // namespace

CheckpointDisk& CheckpointDisk::Real() {
  static RealDisk disk;
  return disk;
}

absl::StatusOr<std::string> CommitCheckpoint(const std::string& checkpoints_dir, int64_t step, int attempt,
                                             const std::vector<FileToWrite>& files, CheckpointDisk& disk) {
  DDP_RETURN_IF_ERROR(MakeFolders(checkpoints_dir));
  const std::string name = CheckpointName(step);
  const std::string target = absl::StrCat(checkpoints_dir, "/", name);
  const std::string temporary = absl::StrCat(checkpoints_dir, "/", kTemporaryPrefix, name);
  DDP_RETURN_IF_ERROR(RemoveTree(temporary));
  absl::Status status = WriteFolder(temporary, step, attempt, files, disk);
  if (status.ok()) status = disk.Rename(temporary, target);
  if (status.ok()) status = FsyncFolder(checkpoints_dir);
  if (!status.ok()) {
    RemoveTree(temporary).IgnoreError();  // the first error is the one to tell
    return status;
  }
  return name;
}

absl::Status VerifyCheckpoint(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kManifestName);
  absl::StatusOr<std::string> text = ReadFile(path, size_t{1} << 20);
  if (!text.ok()) return text.status();
  const Json manifest = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest["files"].is_object()) {
    return absl::DataLossError(absl::StrCat(path, ": no manifest"));
  }
  if (manifest.value("format_version", 0) != kCheckpointFormat) {
    return absl::DataLossError(absl::StrCat(path, ": format_version is not ", kCheckpointFormat));
  }
  for (const auto& [name, entry] : manifest["files"].items()) {
    if (name.find('/') != std::string::npos || !entry.is_object() || !entry.contains("bytes") ||
        !entry["bytes"].is_number_unsigned() || !entry.contains("xxh3_128") || !entry["xxh3_128"].is_string()) {
      return absl::DataLossError(absl::StrCat(path, ": wrong entry \"", name, "\""));
    }
    const std::string file = absl::StrCat(folder, "/", name);
    DDP_ASSIGN_OR_RETURN(const std::string hash, HashFile(file, entry["bytes"].get<uint64_t>()));
    if (hash != entry["xxh3_128"].get<std::string>()) {
      return absl::DataLossError(absl::StrCat(file, ": its bytes are not those that were saved (checksum differs)"));
    }
  }
  return absl::OkStatus();
}

std::string NewestVerified(const std::string& checkpoints_dir, std::vector<std::string>* rejected) {
  const std::vector<int64_t> steps = ListCheckpoints(checkpoints_dir);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    std::string folder = absl::StrCat(checkpoints_dir, "/", CheckpointName(*step));
    const absl::Status status = VerifyCheckpoint(folder);
    if (status.ok()) return folder;
    rejected->push_back(std::string(status.message()));
  }
  return "";
}

absl::Status ApplyRetention(const std::string& checkpoints_dir, int keep, int64_t best) {
  const std::vector<int64_t> steps = ListCheckpoints(checkpoints_dir);
  const size_t kept = static_cast<size_t>(std::max(keep, 1));
  for (size_t i = 0; i + kept < steps.size(); ++i) {
    if (steps[i] == best) continue;
    const std::string folder = absl::StrCat(checkpoints_dir, "/", CheckpointName(steps[i]));
    // Without its manifest first, so that a crash inside the removal leaves no half checkpoint.
    if (unlink(absl::StrCat(folder, "/", kManifestName).c_str()) != 0)
      return ErrnoStatus(errno, "cannot remove " + folder);
    DDP_RETURN_IF_ERROR(RemoveTree(folder));
  }
  DDP_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(checkpoints_dir));
  for (const std::string& name : names) {
    if (name.rfind(kTemporaryPrefix, 0) != 0 || CheckpointStep(name.substr(sizeof(kTemporaryPrefix) - 1)) < 0) continue;
    DDP_RETURN_IF_ERROR(RemoveTree(absl::StrCat(checkpoints_dir, "/", name)));
  }
  return absl::OkStatus();
}

}  // namespace ddp
