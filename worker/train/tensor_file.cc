#include "worker/train/tensor_file.h"

#include <ATen/Functions.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

const std::map<std::string, at::ScalarType>& FloatTypes() {
  static const std::map<std::string, at::ScalarType> types{
      {"F16", at::kHalf}, {"BF16", at::kBFloat16}, {"F32", at::kFloat}, {"F64", at::kDouble}};
  return types;
}

}  // namespace

std::string ShapeText(at::IntArrayRef shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

bool IsFloatType(const std::string& dtype) { return FloatTypes().count(dtype) > 0; }

absl::Status ReadInto(const SafetensorsFile& file, const TensorInfo& info, const at::Tensor& into) {
  const auto type = FloatTypes().find(info.dtype);
  if (type == FloatTypes().end()) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", info.name, "\" is ", info.dtype, ", no float"));
  }
  const at::Tensor host = at::empty(info.shape, type->second);
  DDP_RETURN_IF_ERROR(file.Read(info, host.data_ptr()));
  const at::Tensor values = host.to(at::kFloat);
  if (type->second == at::kDouble && !host.isfinite().equal(values.isfinite())) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor \"", info.name, "\" holds a number (F64) that is too large for float32"));
  }
  into.detach().copy_(values);
  return absl::OkStatus();
}

}  // namespace ddp
