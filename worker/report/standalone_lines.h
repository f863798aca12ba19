// What `ddp-worker --standalone` prints of its events. Only report/ includes this.
#ifndef DDP_WORKER_REPORT_STANDALONE_LINES_H_
#define DDP_WORKER_REPORT_STANDALONE_LINES_H_

#include <string>

#include "ddp/v1/worker.pb.h"

namespace ddp {

class StandaloneLines {
 public:
  // The lines for an event, each with its end; "" for one that says nothing new. Notices and failures are none: the
  // worker itself writes them to standard error.
  std::string Of(const v1::WorkerEvent& event);

 private:
  std::string OfProgress(const v1::Progress& progress);

  bool validated_ = false;  // since the last progress
  std::string last_;
};

// "series,step,time,value" rows, exact.
std::string MetricRows(const v1::MetricBatch& batch);

}  // namespace ddp

#endif  // DDP_WORKER_REPORT_STANDALONE_LINES_H_
