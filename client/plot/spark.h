// A curve in one line.
#ifndef DDP_CLIENT_PLOT_SPARK_H_
#define DDP_CLIENT_PLOT_SPARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/plot/glyphs.h"

namespace ddp {

// The largest value of each stretch of steps, whatever their number, in bounded memory.
class Spark {
 public:
  // By rising step; one that is not greater than an earlier one supersedes what came from there on (a resumed job).
  void Add(int64_t step, double value);
  // At most `cells` columns, from the smallest to the largest value; "!" where a value was not finite. Empty: there are
  // not two steps yet.
  std::string Text(int cells, Glyphs glyphs) const;

 private:
  struct Stretch {
    int64_t first, last;
    double max;  // of the finite values
    bool finite, non_finite;
  };
  static void Merge(Stretch& into, const Stretch& from);

  static constexpr size_t kStretches = 256;
  std::vector<Stretch> stretches_;
  int64_t steps_per_stretch_ = 1;
};

}  // namespace ddp

#endif  // DDP_CLIENT_PLOT_SPARK_H_
