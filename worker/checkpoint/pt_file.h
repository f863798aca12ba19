// PyTorch's .pt files: a zip archive with NAME/data.pkl (a state_dict) and the tensors' values in NAME/data/N.
#ifndef DDP_WORKER_CHECKPOINT_PT_FILE_H_
#define DDP_WORKER_CHECKPOINT_PT_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/checkpoint/state_dict.h"
#include "worker/formats/safetensors.h"
#include "worker/formats/zip.h"

namespace ddp {

// Not thread-safe.
class PtFile {
 public:
  // InvalidArgument "FILE: what is wrong"; TorchScript programs and files of torch.save before 1.6 are named as such.
  static absl::StatusOr<PtFile> Open(const std::string& path);

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  // The tensor's elements in row-major order.
  absl::StatusOr<std::string> Read(const StoredTensor& tensor);

 private:
  absl::Status Wrong(const std::string& what) const;
  absl::Status Parse();

  std::string path_;
  ZipReader zip_;
  std::string folder_;  // of the archive, with a slash
  std::vector<StoredTensor> tensors_;
  std::string loaded_;   // the storage that was read last
  std::string storage_;  // its content: tied weights follow one another
};

// Writes the tensors of a safetensors file as a .pt that torch.load(..., weights_only=True) opens.
absl::Status WritePt(const SafetensorsFile& tensors, ByteSink& sink);

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_PT_FILE_H_
