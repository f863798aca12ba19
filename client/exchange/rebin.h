// Histograms with other bins than ours.
#ifndef DDP_CLIENT_EXCHANGE_REBIN_H_
#define DDP_CLIENT_EXCHANGE_REBIN_H_

#include <optional>
#include <vector>

#include "ddp/v1/metric.pb.h"

namespace ddp {

struct Bin {
  double left, right;  // left == right: all of its values are equal
  double count;
};

// 64 equal bins from the smallest to the largest value. The values of a bin are taken to lie evenly in it (as
// TensorBoard draws them), and numbers are rounded so that their sum stays the rounded sum. Bins must not overlap and
// must rise; outer ones that reach beyond min..max are cut there. Unset: they do not, or something is not finite or
// negative. Series, step and time are left to the caller.
std::optional<v1::Histogram> Rebin(std::vector<Bin> bins, double min, double max);

}  // namespace ddp

#endif  // DDP_CLIENT_EXCHANGE_REBIN_H_
