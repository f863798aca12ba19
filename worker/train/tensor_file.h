// Between safetensors files and tensors.
#ifndef DDP_WORKER_TRAIN_TENSOR_FILE_H_
#define DDP_WORKER_TRAIN_TENSOR_FILE_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "absl/status/status.h"
#include "worker/formats/safetensors.h"

namespace ddp {

// "[2, 3]"
std::string ShapeText(at::IntArrayRef shape);

// Copies one tensor of the file into `into`, which has its shape and holds float32, on any device.
absl::Status ReadInto(const SafetensorsFile& file, const TensorInfo& info, const at::Tensor& into);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_TENSOR_FILE_H_
