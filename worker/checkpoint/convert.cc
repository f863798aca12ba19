#include "worker/checkpoint/convert.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/checkpoint/folder.h"
#include "worker/checkpoint/pt_file.h"

namespace ddp {

namespace {

constexpr size_t kPiece = size_t{1} << 20;

// A safetensors file begins with its header's length in 8 bytes and then an opening brace; a zip archive with "PK" and
// a pickle with 0x80, and neither has a brace there.
absl::StatusOr<bool> LooksLikeSafetensors(const std::string& file) {
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("cannot open ", file));
  char head[9] = {};
  if (pread(fd.get(), head, sizeof(head), 0) < 0) return ErrnoStatus(errno, absl::StrCat("cannot read ", file));
  return head[8] == '{' || (head[0] != '\x80' && (head[0] != 'P' || head[1] != 'K'));
}

absl::Status CopyFile(int from, uint64_t bytes, ByteSink& out) {
  std::string piece(kPiece, '\0');
  for (uint64_t at = 0; at < bytes;) {
    const ssize_t n = pread(from, piece.data(), std::min<uint64_t>(kPiece, bytes - at), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::DataLossError("a file ended early");
    DDP_RETURN_IF_ERROR(out.Append({piece.data(), static_cast<size_t>(n)}));
    at += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

Converted Result(const HashedFdSink& sink, size_t tensors) {
  return {.bytes = sink.hash().size(), .xxh3_128 = sink.hash().Hex(), .tensors = static_cast<int64_t>(tensors)};
}

absl::StatusOr<Converted> ImportSafetensors(const std::string& file, int out) {
  DDP_ASSIGN_OR_RETURN(const SafetensorsFile tensors, SafetensorsFile::Open(file));
  if (tensors.tensors().empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": holds no tensors"));
  HashedFdSink sink(out);
  DDP_RETURN_IF_ERROR(CopyFile(tensors.fd(), tensors.file_bytes(), sink));
  return Result(sink, tensors.tensors().size());
}

absl::StatusOr<Converted> ImportPt(const std::string& file, int out) {
  DDP_ASSIGN_OR_RETURN(PtFile tensors, PtFile::Open(file));
  if (tensors.tensors().empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": holds no tensors"));
  std::vector<TensorBytes> head;
  for (const StoredTensor& t : tensors.tensors()) {
    head.push_back({.name = t.name, .dtype = t.dtype, .shape = t.shape, .bytes = t.bytes});
  }
  HashedFdSink sink(out);
  DDP_RETURN_IF_ERROR(sink.Append(SafetensorsHeader(head, {{"format", "pt"}})));
  for (const StoredTensor& tensor : tensors.tensors()) {
    DDP_ASSIGN_OR_RETURN(const std::string values, tensors.Read(tensor));
    DDP_RETURN_IF_ERROR(sink.Append(values));
  }
  return Result(sink, tensors.tensors().size());
}

}  // namespace

absl::StatusOr<Converted> ExportModel(const std::string& folder, WeightsFormat format, int out) {
  DDP_ASSIGN_OR_RETURN(const SafetensorsFile model, SafetensorsFile::Open(absl::StrCat(folder, "/model.safetensors")));
  DDP_RETURN_IF_ERROR(VerifyCheckpoint(folder));
  HashedFdSink sink(out);
  DDP_RETURN_IF_ERROR(format == WeightsFormat::kPt ? WritePt(model, sink)
                                                   : CopyFile(model.fd(), model.file_bytes(), sink));
  return Result(sink, model.tensors().size());
}

absl::StatusOr<Converted> ImportModel(const std::string& file, int out) {
  DDP_ASSIGN_OR_RETURN(const bool safetensors, LooksLikeSafetensors(file));
  return safetensors ? ImportSafetensors(file, out) : ImportPt(file, out);
}

}  // namespace ddp
