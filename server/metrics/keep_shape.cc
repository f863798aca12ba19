#include "server/metrics/keep_shape.h"

#include <cmath>
#include <numeric>
#include <set>

namespace ddp {
namespace {

constexpr size_t kOfBucket = 5;

std::set<size_t> KeptOf(absl::Span<const double> values, size_t begin, size_t end) {
  size_t least = end;
  size_t greatest = end;
  size_t not_finite = end;
  for (size_t i = begin; i < end; ++i) {
    if (!std::isfinite(values[i])) {
      if (not_finite == end) not_finite = i;
      continue;
    }
    if (least == end || values[i] < values[least]) least = i;
    if (greatest == end || values[i] > values[greatest]) greatest = i;
  }
  std::set<size_t> kept = {begin, end - 1, least, greatest, not_finite};
  kept.erase(end);  // there was none
  return kept;
}

}  // namespace

std::vector<size_t> KeepShape(absl::Span<const double> values, size_t limit) {
  std::vector<size_t> kept;
  if (values.size() <= limit) {
    kept.resize(values.size());
    std::iota(kept.begin(), kept.end(), size_t{0});
    return kept;
  }
  const size_t buckets = limit / kOfBucket;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const std::set<size_t> of_bucket =
        KeptOf(values, values.size() * bucket / buckets, values.size() * (bucket + 1) / buckets);
    kept.insert(kept.end(), of_bucket.begin(), of_bucket.end());
  }
  return kept;
}

}  // namespace ddp
