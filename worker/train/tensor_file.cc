#include "worker/train/tensor_file.h"

#include <ATen/Functions.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace ddp {

std::string ShapeText(at::IntArrayRef shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

absl::Status ReadInto(const SafetensorsFile& file, const TensorInfo& info, const at::Tensor& into) {
  const at::Tensor host = at::empty(info.shape, at::kFloat);
  DDP_RETURN_IF_ERROR(file.Read(info, host.data_ptr()));
  into.detach().copy_(host);
  return absl::OkStatus();
}

}  // namespace ddp
