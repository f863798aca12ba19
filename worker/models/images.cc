#include "worker/models/images.h"

#include <ATen/Functions.h>

#include "absl/strings/str_cat.h"

namespace ddp {

absl::Status RequireImages(const std::string& model, const ModelShape& shape) {
  if (shape.channels > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "training.data.image_shape: ", model, " reads images, but a sample is a row of ", shape.features,
      " numbers: say which image that is (CHANNELSxHEIGHTxWIDTH, as in 1x28x28), or choose the model mlp"));
}

at::Tensor AsImages(const at::Tensor& features, const ModelShape& shape) {
  const std::vector<int64_t> sizes{features.size(0), shape.channels, shape.height, shape.width};
  // With one channel both formats are the same bytes, and contiguous() would leave strides that say NCHW, which all
  // kernels after would follow.
  if (shape.channels == 1) return features.contiguous().as_strided(sizes, at::get_channels_last_strides_2d(sizes));
  return features.view(sizes).contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace ddp
