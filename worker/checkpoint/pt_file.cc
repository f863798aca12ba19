#include "worker/checkpoint/pt_file.h"

#include <cstring>
#include <set>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/formats/input_file.h"

namespace ddp {

namespace {

constexpr uint64_t kMaxPickle = uint64_t{64} << 20;
constexpr uint64_t kMaxStorage = uint64_t{64} << 30;
// Tied weights stand once in a file and twice in its tensors; far more than that is a bomb.
constexpr uint64_t kMaxGrowth = 16;
constexpr uint64_t kFreeGrowth = uint64_t{64} << 20;

// What is wrong with the first bytes of a file; null: nothing.
const char* WrongBeginning(std::string_view head) {
  if (head == "PK\x03\x04") return nullptr;
  if (head.size() >= 2 && head[0] == '\x80') {
    return "a pickle without an archive, as torch.save wrote it before PyTorch 1.6; load it in a Python that you trust "
           "with it and save its state_dict again";
  }
  return "no .pt file: it does not begin as a zip archive";
}

// Copies one tensor out of its storage, innermost dimension last.
std::string Gather(const StoredTensor& tensor, const std::string& storage) {
  const size_t each = DtypeBytes(tensor.dtype);
  std::string out(tensor.bytes, '\0');
  const size_t dimensions = tensor.shape.size();
  std::vector<int64_t> index(dimensions, 0);
  uint64_t from = tensor.offset;
  for (uint64_t to = 0; to < tensor.bytes; to += each) {
    std::memcpy(out.data() + to, storage.data() + from * each, each);
    for (size_t d = dimensions; d-- > 0;) {
      from += static_cast<uint64_t>(tensor.strides[d]);
      if (++index[d] < tensor.shape[d]) break;
      from -= static_cast<uint64_t>(tensor.strides[d]) * static_cast<uint64_t>(tensor.shape[d]);
      index[d] = 0;
    }
  }
  return out;
}

bool IsContiguous(const StoredTensor& tensor) {
  int64_t expected = 1;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != expected) return false;
    expected *= tensor.shape[d];
  }
  return true;
}

}  // namespace

absl::StatusOr<PtFile> PtFile::Open(const std::string& path) {
  PtFile file;
  file.path_ = path;
  DDP_ASSIGN_OR_RETURN(const InputFile head, ReadInput(path, 4));
  if (const char* what = WrongBeginning(head.content); what != nullptr) return file.Wrong(what);
  DDP_ASSIGN_OR_RETURN(file.zip_, ZipReader::Open(path));
  DDP_RETURN_IF_ERROR(file.Parse());
  return file;
}

absl::Status PtFile::Wrong(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", what));
}

absl::Status PtFile::Parse() {
  const ZipEntry* pickle = nullptr;
  for (const auto& [name, entry] : zip_.entries()) {
    if (absl::EndsWith(name, "/constants.pkl")) {
      return Wrong("a TorchScript program, no state_dict; in Python: torch.save(torch.jit.load(f).state_dict(), g)");
    }
    if (!absl::EndsWith(name, "/data.pkl") || name.find('/') != name.size() - sizeof("data.pkl")) continue;
    if (pickle != nullptr) return Wrong("holds two data.pkl; refused");
    pickle = &entry;
  }
  if (pickle == nullptr) return Wrong("a zip archive, but no .pt file: it holds no NAME/data.pkl");
  folder_ = pickle->name.substr(0, pickle->name.find('/') + 1);
  if (const ZipEntry* order = zip_.Find(folder_ + "byteorder"); order != nullptr) {
    DDP_ASSIGN_OR_RETURN(const std::string text, zip_.Read(*order, 64));
    if (text != "little") return Wrong(absl::StrCat("byte order \"", EscapeControls(text), "\"; only little is read"));
  }
  DDP_ASSIGN_OR_RETURN(const std::string text, zip_.Read(*pickle, kMaxPickle));
  absl::StatusOr<std::vector<StoredTensor>> tensors = ReadStateDict(text);
  if (!tensors.ok()) return Wrong(absl::StrCat(pickle->name, ": ", std::string(tensors.status().message())));
  tensors_ = *std::move(tensors);
  uint64_t total = 0;
  // One tensor may be a small view of a storage, which is unpacked as a whole.
  uint64_t unpacked = 0;
  std::set<std::string_view> storages;
  const uint64_t most = zip_.file_bytes() * kMaxGrowth + kFreeGrowth;
  for (const StoredTensor& tensor : tensors_) {
    const std::string shown = EscapeControls(tensor.name);
    const ZipEntry* entry = zip_.Find(absl::StrCat(folder_, "data/", tensor.storage));
    if (entry == nullptr) {
      return Wrong(absl::StrCat("tensor \"", shown, "\": no entry data/", EscapeControls(tensor.storage)));
    }
    if (entry->bytes != tensor.storage_bytes) {
      return Wrong(absl::StrCat("tensor \"", shown, "\": the entry ", EscapeControls(entry->name), " has ",
                                entry->bytes, " bytes instead of ", tensor.storage_bytes));
    }
    if (storages.insert(entry->name).second) {
      if (entry->bytes > most - unpacked) {
        return Wrong(absl::StrCat("tensor \"", shown, "\": with the entry ", EscapeControls(entry->name), " of ",
                                  entry->bytes, " bytes its storages would take more than ", most, " bytes, ",
                                  kMaxGrowth, " times those of the file; refused"));
      }
      unpacked += entry->bytes;
    }
    if (tensor.bytes > most - total) {
      return Wrong(absl::StrCat("its tensors would take more than ", most, " bytes, ", kMaxGrowth,
                                " times those of the file; refused"));
    }
    total += tensor.bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PtFile::Read(const StoredTensor& tensor) {
  const std::string name = absl::StrCat(folder_, "data/", tensor.storage);
  if (loaded_ != name) {
    loaded_.clear();  // a failed reading leaves nothing
    DDP_ASSIGN_OR_RETURN(storage_, zip_.Read(*zip_.Find(name), kMaxStorage));
    loaded_ = name;
  }
  if (tensor.bytes == 0) return std::string();
  if (!IsContiguous(tensor)) return Gather(tensor, storage_);
  return storage_.substr(tensor.offset * DtypeBytes(tensor.dtype), tensor.bytes);
}

absl::Status WritePt(const SafetensorsFile& tensors, ByteSink& sink) {
  ZipWriter zip(sink);
  DDP_RETURN_IF_ERROR(zip.Add("archive/data.pkl", WriteStateDict(tensors.tensors())));
  DDP_RETURN_IF_ERROR(zip.Add("archive/byteorder", "little"));
  std::string content;
  for (size_t i = 0; i < tensors.tensors().size(); ++i) {
    const TensorInfo& tensor = tensors.tensors()[i];
    content.resize(tensor.bytes);
    DDP_RETURN_IF_ERROR(tensors.Read(tensor, content.data()));
    DDP_RETURN_IF_ERROR(zip.Add(absl::StrCat("archive/data/", i), content));
  }
  DDP_RETURN_IF_ERROR(zip.Add("archive/version", "3\n"));
  return zip.Finish();
}

}  // namespace ddp
