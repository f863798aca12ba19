#include "worker/checkpoint/convert.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/checkpoint/folder.h"
#include "worker/checkpoint/pt_file.h"
#include "worker/formats/byte_sink.h"
#include "worker/formats/input_file.h"
#include "worker/formats/xxh3.h"

namespace ddp {

namespace {

constexpr size_t kPiece = size_t{1} << 20;

// A descriptor, and the checksum of what it got.
class HashedFdSink final : public ByteSink {
 public:
  explicit HashedFdSink(int fd) : fd_(fd) {}
  absl::Status Append(std::string_view bytes) override {
    hash_.Update(bytes);
    return WriteAll(fd_, bytes);
  }
  const Xxh3& hash() const { return hash_; }

 private:
  const int fd_;
  Xxh3 hash_;
};

// A safetensors file begins with its header's length in 8 bytes and then an opening brace; a zip archive with "PK" and
// a pickle with 0x80, and neither has a brace there.
absl::StatusOr<bool> LooksLikeSafetensors(const std::string& file) {
  DDP_ASSIGN_OR_RETURN(const InputFile input, ReadInput(file, 9));
  const std::string& head = input.content;
  return (head.size() == 9 && head[8] == '{') || (head.substr(0, 1) != "\x80" && head.substr(0, 2) != "PK");
}

absl::Status CopyFile(const SafetensorsFile& from, const std::string& path, ByteSink& out) {
  std::string piece;
  for (uint64_t at = 0; at < from.file_bytes(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(kPiece, from.file_bytes() - at));
    DDP_RETURN_IF_ERROR(ReadAt(from.fd(), path, at, piece.data(), piece.size()));
    DDP_RETURN_IF_ERROR(out.Append(piece));
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
  DDP_RETURN_IF_ERROR(CopyFile(tensors, file, sink));
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
  const std::string path = absl::StrCat(folder, "/model.safetensors");
  DDP_ASSIGN_OR_RETURN(const SafetensorsFile model, SafetensorsFile::Open(path));
  DDP_RETURN_IF_ERROR(VerifyCheckpoint(folder));
  HashedFdSink sink(out);
  DDP_RETURN_IF_ERROR(format == WeightsFormat::kPt ? WritePt(model, sink) : CopyFile(model, path, sink));
  return Result(sink, model.tensors().size());
}

absl::StatusOr<Converted> ImportModel(const std::string& file, int out) {
  DDP_ASSIGN_OR_RETURN(const bool safetensors, LooksLikeSafetensors(file));
  return safetensors ? ImportSafetensors(file, out) : ImportPt(file, out);
}

}  // namespace ddp
