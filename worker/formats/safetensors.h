// The safetensors format (https://github.com/huggingface/safetensors, "Format"): uint64 little-endian header length, a
// JSON header {name: {dtype, shape, data_offsets}}, then the tensors' bytes without holes, row-major, little-endian.
#ifndef DDP_WORKER_FORMATS_SAFETENSORS_H_
#define DDP_WORKER_FORMATS_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files.h"

namespace ddp {

// Of one element; 0: no type of the format.
size_t DtypeBytes(const std::string& dtype);

struct TensorInfo {
  std::string name;
  std::string dtype;  // "F32", "I64", "BF16", ...
  std::vector<int64_t> shape;
  size_t begin = 0;  // in the file
  size_t bytes = 0;
};

// The header of a file, checked completely: known types, sizes that match shapes, no hole, no overlap, no duplicate
// name, no byte behind the last tensor. Thread-safe after Open.
class SafetensorsFile {
 public:
  // NotFound, or InvalidArgument "FILE: byte N: what is wrong".
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);
  // The open file, for whoever wants all of its bytes.
  int fd() const { return fd_.get(); }
  size_t file_bytes() const { return file_bytes_; }

  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // in the order of their bytes
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Null: no tensor of that name.
  const TensorInfo* Find(const std::string& name) const;
  // Reads a tensor's bytes into memory of info.bytes.
  absl::Status Read(const TensorInfo& info, void* into) const;

 private:
  std::string path_;
  UniqueFd fd_;
  size_t file_bytes_ = 0;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

// A tensor to write. The bytes are borrowed.
struct TensorBytes {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  size_t bytes = 0;
};

// The header with its length, padded with spaces to 8 bytes; the tensors' bytes follow it in the given order.
std::string SafetensorsHeader(const std::vector<TensorBytes>& tensors,
                              const std::map<std::string, std::string>& metadata);

}  // namespace ddp

#endif  // DDP_WORKER_FORMATS_SAFETENSORS_H_
