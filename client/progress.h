// The words of watch. Pure functions.
#ifndef DDP_CLIENT_PROGRESS_H_
#define DDP_CLIENT_PROGRESS_H_

#include <string>

#include "client/plot/spark.h"
#include "ddp/v1/job.pb.h"

namespace ddp {

// One line of at most `width` columns: "RUNNING epoch 2/9 [#####.....] 120/1120 loss 4.2500 ▇▅▃▂ acc 0.312 lr 0.001
// 5120 samples/s ETA 1:23". In a narrow one the bar is shorter or absent, and what does not fit is left out from the
// right; the curve takes what room is left.
std::string ProgressLine(const v1::Job& job, int width, const Spark& curve = {}, Glyphs glyphs = Glyphs::kUnicode);

// "epoch 2/9 done: loss 4.2500  acc 0.3120  valid_loss 4.0  valid_acc 0.33": one line for each end of an epoch.
std::string EpochLine(const v1::Progress& progress, int finished_epoch);

// "12:00:01 RUNNING  attempt 1 trains"
std::string EventLine(const v1::JobEvent& event);

// The last line: "0abc SUCCEEDED: trained to the end, 270 steps"
std::string EndLine(const v1::Job& job);

}  // namespace ddp

#endif  // DDP_CLIENT_PROGRESS_H_
