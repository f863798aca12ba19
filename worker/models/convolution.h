// Convolutions of images.
#ifndef DDP_WORKER_MODELS_CONVOLUTION_H_
#define DDP_WORKER_MODELS_CONVOLUTION_H_

#include <ATen/core/Tensor.h>

namespace ddp {

// Initial values of a weight [out, in, k, k] in channels-last memory, as the kernels read it: otherwise every pass
// turns it around first.
at::Tensor KernelInit(const at::Tensor& values);

// x [n, in, height, width] with weight [out, in, k, k] and padding k / 2; bias may be undefined. Small images with many
// channels are multiplied as matrices on CPUs (convolution.cc), the rest is at::conv2d.
at::Tensor Convolve(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, int64_t stride);

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_CONVOLUTION_H_
