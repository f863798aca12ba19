// A histogram in a terminal. Pure functions.
#ifndef DDP_CLIENT_HISTOGRAM_TEXT_H_
#define DDP_CLIENT_HISTOGRAM_TEXT_H_

#include <string>

#include "ddp/v1/metric.pb.h"

namespace ddp {

// Two lines, for 64 bins:
//   grad/fc.weight  step 120  4096 values, mean about 0.0012, 3 not finite
//       -0.0312 |      ▁▁▂▄█▅▂▁▁     | 0.0297
// One column per bin, as high as its count in eighths of the largest one; a bin that holds anything is never blank.
std::string HistogramText(const v1::Histogram& histogram);

// As if each value lay in the middle of its bin. NaN: there are no finite values.
double ApproximateMean(const v1::Histogram& histogram);

}  // namespace ddp

#endif  // DDP_CLIENT_HISTOGRAM_TEXT_H_
