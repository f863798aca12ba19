#include "worker/models/convolution.h"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ddp {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// oneDNN's kernels work along the rows of an image. Where these are short and the weights do not fit into the cache, a
// product of matrices is quicker, forward and backward together: 512 channels at 4x4 1.3 to 2.7 times (batches of 256
// and 8), at 2x2 4 times; 256 channels at 7x7 are even, and fewer channels lose (one core with AVX-512).
constexpr int64_t kMaxPositions = 16;
constexpr int64_t kMinChannels = 256;

// Sizes of one convolution with padding k / 2.
struct Sizes {
  int64_t n, in, height, width, k, stride, out_height, out_width;
};

int64_t OutSize(int64_t size, int64_t k, int64_t stride) { return (size + k / 2 * 2 - k) / stride + 1; }

Sizes SizesOf(at::IntArrayRef x, at::IntArrayRef weight, int64_t stride) {
  const int64_t k = weight[2];
  return {x[0], x[1], x[2], x[3], k, stride, OutSize(x[2], k, stride), OutSize(x[3], k, stride)};
}

// The padded image [n, height, width, in] that position (row, column) of the kernel sees: one value for each output.
at::Tensor Seen(const at::Tensor& padded, const Sizes& s, int64_t row, int64_t column) {
  return padded.slice(1, row, row + s.stride * (s.out_height - 1) + 1, s.stride)
      .slice(2, column, column + s.stride * (s.out_width - 1) + 1, s.stride);
}

// The matrix [n * out_height * out_width, k * k * in] of what each output sees, known as im2col.
at::Tensor Columns(const at::Tensor& x, const Sizes& s) {
  const int64_t pad = s.k / 2;
  const at::Tensor padded = at::constant_pad_nd(x.permute({0, 2, 3, 1}), {0, 0, pad, pad, pad, pad});
  at::Tensor columns = at::empty({s.n, s.out_height, s.out_width, s.k, s.k, s.in}, x.options());
  for (int64_t row = 0; row < s.k; ++row) {
    for (int64_t column = 0; column < s.k; ++column) {
      columns.select(3, row).select(3, column).copy_(Seen(padded, s, row, column));
    }
  }
  return columns.view({-1, s.k * s.k * s.in});
}

// Columns' gradient: each value of the image gets the sum over the outputs that saw it.
at::Tensor FromColumns(const at::Tensor& columns, const Sizes& s) {
  const int64_t pad = s.k / 2;
  const at::Tensor all = columns.view({s.n, s.out_height, s.out_width, s.k, s.k, s.in});
  const at::Tensor padded = at::zeros({s.n, s.height + 2 * pad, s.width + 2 * pad, s.in}, columns.options());
  for (int64_t row = 0; row < s.k; ++row) {
    for (int64_t column = 0; column < s.k; ++column) {
      Seen(padded, s, row, column).add_(all.select(3, row).select(3, column));
    }
  }
  return padded.narrow(1, pad, s.height).narrow(2, pad, s.width).contiguous().permute({0, 3, 1, 2});
}

// [out, k * k * in]; nothing is copied of a weight in channels-last memory.
at::Tensor AsMatrix(const at::Tensor& weight) {
  return weight.permute({0, 2, 3, 1}).reshape({weight.size(0), weight[0].numel()});
}

struct MatrixConvolution : torch::autograd::Function<MatrixConvolution> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
    const Sizes s = SizesOf(x.sizes(), weight.sizes(), stride);
    const at::Tensor columns = Columns(x, s);
    context->save_for_backward({columns, weight});
    context->saved_data["x"] = x.sizes();
    context->saved_data["stride"] = stride;
    return at::mm(columns, AsMatrix(weight).t()).view({s.n, s.out_height, s.out_width, -1}).permute({0, 3, 1, 2});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& columns = saved[0];
    const at::Tensor& weight = saved[1];
    const std::vector<int64_t> x = context->saved_data["x"].toIntVector();
    const Sizes s = SizesOf(x, weight.sizes(), context->saved_data["stride"].toInt());
    const at::Tensor gradient = gradients[0].permute({0, 2, 3, 1}).reshape({-1, weight.size(0)});
    at::Tensor of_x;
    at::Tensor of_weight;
    if (context->needs_input_grad(0)) of_x = FromColumns(at::mm(gradient, AsMatrix(weight)), s);
    if (context->needs_input_grad(1)) {
      of_weight = at::mm(gradient.t(), columns).view({-1, s.k, s.k, s.in}).permute({0, 3, 1, 2});
    }
    return {of_x, of_weight, {}};
  }
};

bool IsForMatrices(const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
  if (!x.is_cpu() || x.scalar_type() != at::kFloat || at::autocast::is_autocast_enabled(at::kCPU)) return false;
  const Sizes s = SizesOf(x.sizes(), weight.sizes(), stride);
  return s.in >= kMinChannels && s.k > 1 && s.out_height * s.out_width <= kMaxPositions;
}

}  // namespace

at::Tensor KernelInit(const at::Tensor& values) { return values.contiguous(at::MemoryFormat::ChannelsLast); }

at::Tensor Convolve(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, int64_t stride) {
  if (IsForMatrices(x, weight, stride)) {
    const at::Tensor y = MatrixConvolution::apply(x, weight, stride);
    return bias.defined() ? y + bias.view({-1, 1, 1}) : y;
  }
  return at::conv2d(x, weight, bias, {stride, stride}, {weight.size(2) / 2, weight.size(3) / 2});
}

}  // namespace ddp
