// Between tensors and worker/kernels.
#ifndef DDP_WORKER_MODELS_ELEMENTS_H_
#define DDP_WORKER_MODELS_ELEMENTS_H_

#include <ATen/core/Tensor.h>

#include <type_traits>

#include "worker/kernels/elements.h"

namespace ddp {

// Whether the kernels read this tensor (once it is contiguous).
inline bool HasElements(const at::Tensor& x) {
  return x.device().is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

// Calls body with a float or a Bf16, whose type is that of the elements. type: kFloat or kBFloat16.
template <typename Body>
void WithElements(at::ScalarType type, const Body& body) {
  if (type == at::kFloat) {
    body(float{});
  } else {
    body(Bf16{});
  }
}

// The memory of a contiguous tensor for which HasElements holds and whose elements are `Element`.
template <typename Element>
Element* Elements(const at::Tensor& x) {
  static_assert(sizeof(Bf16) == sizeof(at::BFloat16));
  return static_cast<Element*>(x.data_ptr());
}

}  // namespace ddp

#endif  // DDP_WORKER_MODELS_ELEMENTS_H_
