#include "worker/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/formats/input_file.h"

namespace ddp {

namespace {

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

std::optional<NumberType> TypeOf(int code) {
  switch (code) {
    case 0x08:
      return NumberType::kU8;
    case 0x09:
      return NumberType::kI8;
    case 0x0B:
      return NumberType::kI16;
    case 0x0C:
      return NumberType::kI32;
    case 0x0D:
      return NumberType::kF32;
    case 0x0E:
      return NumberType::kF64;
    default:
      return std::nullopt;
  }
}

// Bytes out of a plain or packed file.
class Stream {
 public:
  Stream(std::string path, gzFile_s* file) : path_(std::move(path)), file_(file) { gzbuffer(file, 1 << 18); }

  absl::Status Wrong(int64_t at, const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": byte ", at, ": ", what));
  }
  // Fewer bytes than asked for: the file ends there.
  absl::StatusOr<size_t> Read(void* into, size_t bytes) {
    const int n = gzread(file_.get(), into, static_cast<unsigned>(bytes));
    int code = Z_OK;
    const char* text = gzerror(file_.get(), &code);
    if (n < 0 || (code != Z_OK && code != Z_BUF_ERROR)) {
      return Wrong(at_, absl::StrCat("the gzip data is damaged: ", text));
    }
    if (code == Z_BUF_ERROR) return Wrong(at_ + n, "the gzip data ends early: the file is cut");
    at_ += n;
    return static_cast<size_t>(n);
  }

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, GzClose> file_;
  int64_t at_ = 0;
};

absl::Status ReadHeader(Stream* stream, NumericArray* array) {
  std::array<unsigned char, 4> word{};
  DDP_ASSIGN_OR_RETURN(const size_t magic, stream->Read(word.data(), 4));
  const std::optional<NumberType> type = TypeOf(word[2]);
  if (magic < 4) return stream->Wrong(static_cast<int64_t>(magic), "the file ends inside the header");
  if (word[0] != 0 || word[1] != 0 || !type || word[3] < 1) {
    const std::string_view seen(reinterpret_cast<const char*>(word.data()), 4);
    return stream->Wrong(0, absl::StrCat("no IDX file: it begins with '", EscapeControls(seen),
                                         "', not with two zero bytes, a type and the number of dimensions"));
  }
  array->type = *type;
  const int dimensions = word[3];
  auto bytes = static_cast<int64_t>(BytesOf(*type));
  for (int d = 0; d < dimensions; ++d) {
    DDP_ASSIGN_OR_RETURN(const size_t n, stream->Read(word.data(), 4));
    if (n < 4) return stream->Wrong(4 + 4 * d + static_cast<int64_t>(n), "the file ends inside the header");
    array->shape.push_back(int64_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3]);
    if (__builtin_mul_overflow(bytes, array->shape.back(), &bytes)) {
      return stream->Wrong(4 + 4 * d, absl::StrCat("the shape ", ShapeText(array->shape), " is too large"));
    }
  }
  array->data_byte = static_cast<uint64_t>(4 + 4 * dimensions);
  return absl::OkStatus();
}

absl::Status ReadNumbers(Stream* stream, NumericArray* array) {
  constexpr uint64_t kStep = uint64_t{1} << 24;
  const uint64_t total = static_cast<uint64_t>(array->size()) * BytesOf(array->type);
  const auto header = static_cast<int64_t>(array->data_byte);
  while (array->bytes.size() < total) {
    const size_t have = array->bytes.size();
    array->bytes.resize(have + std::min(kStep, total - have));
    DDP_ASSIGN_OR_RETURN(const size_t n, stream->Read(array->bytes.data() + have, array->bytes.size() - have));
    if (have + n == array->bytes.size()) continue;
    return stream->Wrong(header + static_cast<int64_t>(have + n),
                         absl::StrCat("the file ends here: the shape ", ShapeText(array->shape), " of ",
                                      NameOf(array->type), " needs ", total, " bytes, there are ", have + n));
  }
  char more = 0;
  DDP_ASSIGN_OR_RETURN(const size_t behind, stream->Read(&more, 1));
  if (behind != 0) {
    return stream->Wrong(header + static_cast<int64_t>(total),
                         absl::StrCat("bytes behind the last number of the shape ", ShapeText(array->shape)));
  }
  SwapBytes(BytesOf(array->type), &array->bytes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NumericArray> ReadIdx(const std::string& path, bool header_only) {
  DDP_ASSIGN_OR_RETURN(OpenFile open, OpenInput(path));
  gzFile_s* file = gzdopen(open.fd.get(), "rb");
  if (file == nullptr) return absl::InternalError(absl::StrCat(path, ": zlib cannot read it"));
  open.fd.release();  // gzclose closes it
  Stream stream(path, file);
  NumericArray array{.name = path};
  DDP_RETURN_IF_ERROR(ReadHeader(&stream, &array));
  if (!header_only) DDP_RETURN_IF_ERROR(ReadNumbers(&stream, &array));
  return array;
}

}  // namespace ddp
