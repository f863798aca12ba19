#include "worker/checkpoint/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "worker/formats/xxh3.h"

namespace ddp {

namespace {

using Json = nlohmann::json;

constexpr char kTemporaryPrefix[] = ".tmp-";

constexpr char kManifestHash[] = "manifest_xxh3_128";  // of the manifest's text without this field

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
  HashedFile(int fd, CheckpointDisk& disk) : fd_(fd), disk_(disk) {}
  absl::Status Append(std::string_view bytes) override {
    hash_.Update(bytes);
    return disk_.Write(fd_, bytes);
  }
  Json entry() const { return {{"bytes", hash_.size()}, {"xxh3_128", hash_.Hex()}}; }

 private:
  int fd_;
  CheckpointDisk& disk_;
  Xxh3 hash_;
};

std::string ManifestText(const Json& manifest) { return manifest.dump(1) + "\n"; }

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
  manifest[kManifestHash] = Xxh3Hex(ManifestText(manifest));
  const std::string text = ManifestText(manifest);
  const FileToWrite last{kManifestName, [&](CheckpointFile& out) { return out.Append(text); }};
  DDP_RETURN_IF_ERROR(WriteOne(absl::StrCat(folder, "/", kManifestName), last, disk).status());
  return FsyncFolder(folder);
}

constexpr char kWholeManifest[] = "a manifest that says what was saved";

// The files' entries, or what is wrong with the manifest.
absl::StatusOr<Json> ReadManifest(const std::string& path, Damage* damage) {
  *damage = {.path = path, .expected = kWholeManifest};
  const auto wrong = [&](const std::string& found) {
    damage->found = found;
    return absl::DataLossError(found);
  };
  absl::StatusOr<std::string> text = ReadFile(path, size_t{1} << 20);
  if (!text.ok()) return wrong(std::string(text.status().message()));
  // Deeper than ours is no manifest, and would be written back by recursion.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= 4; };
  Json manifest = Json::parse(*text, shallow, /*allow_exceptions=*/false);
  if (!manifest.is_object()) return wrong("no JSON object");
  const Json version = manifest.value("format_version", Json());
  if (version != 1 && version != kCheckpointFormat) {
    return wrong(absl::StrCat("a format_version that is neither 1 nor ", kCheckpointFormat));
  }
  if (version != 1) {
    // As text, since other spellings of the same JSON are damage, too.
    if (ManifestText(manifest) != *text) return wrong("other bytes than those that were saved");
    const Json hash = manifest.value(kManifestHash, Json());
    manifest.erase(kManifestHash);
    if (hash != Xxh3Hex(ManifestText(manifest))) return wrong("one with another checksum");
  }
  Json files = manifest.value("files", Json());
  if (!files.is_object()) return wrong("no files");
  for (const auto& [name, entry] : files.items()) {
    if (name.find('/') != std::string::npos || !entry.is_object() ||
        !entry.value("bytes", Json()).is_number_unsigned() || !entry.value("xxh3_128", Json()).is_string()) {
      return wrong(absl::StrCat("a wrong entry \"", name, "\""));
    }
  }
  return files;
}

absl::Status CheckFile(const std::string& path, const Json& entry, Damage* damage) {
  *damage = {.path = path};
  const auto bytes = entry["bytes"].get<uint64_t>();
  damage->expected = absl::StrCat(bytes, " bytes");
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    damage->found = std::string(ErrnoStatus(errno, "nothing").message());
    return absl::DataLossError(damage->found);
  }
  damage->found = absl::StrCat(info.st_size, " bytes");
  if (static_cast<uint64_t>(info.st_size) != bytes) return absl::DataLossError(damage->found);
  const absl::StatusOr<std::string> hash = Xxh3Hex(fd.get());
  damage->expected = absl::StrCat("checksum ", entry["xxh3_128"].get<std::string>());
  damage->found = hash.ok() ? absl::StrCat("checksum ", *hash) : std::string(hash.status().message());
  return damage->found == damage->expected ? absl::OkStatus() : absl::DataLossError(damage->found);
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

std::vector<Damage> FindDamage(const std::string& folder) {
  Damage damage;
  const absl::StatusOr<Json> files = ReadManifest(absl::StrCat(folder, "/", kManifestName), &damage);
  if (!files.ok()) return {damage};
  std::vector<Damage> all;
  for (const auto& [name, entry] : files->items()) {
    if (!CheckFile(absl::StrCat(folder, "/", name), entry, &damage).ok()) all.push_back(damage);
  }
  return all;
}

absl::Status VerifyCheckpoint(const std::string& folder) {
  const std::vector<Damage> damage = FindDamage(folder);
  return damage.empty() ? absl::OkStatus() : absl::DataLossError(damage.front().ToString());
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

absl::Status ApplyRetention(const std::string& checkpoints_dir, int keep, int64_t newest, int64_t best) {
  std::vector<int64_t> steps = ListCheckpoints(checkpoints_dir);
  std::erase_if(steps, [newest](int64_t step) { return step > newest; });
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
