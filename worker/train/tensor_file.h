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

// Whether ReadInto knows the type: F16, BF16, F32, F64.
bool IsFloatType(const std::string& dtype);

// Copies one tensor of the file into `into`, which has its shape and holds float32, on any device. Other types are
// converted: F16 and BF16 exactly, F64 to the nearest float32. InvalidArgument: a type of no floating-point numbers, or
// a finite number that float32 cannot hold.
absl::Status ReadInto(const SafetensorsFile& file, const TensorInfo& info, const at::Tensor& into);

}  // namespace ddp

#endif  // DDP_WORKER_TRAIN_TENSOR_FILE_H_
