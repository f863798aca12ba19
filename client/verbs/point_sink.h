// Where exported points go.
#ifndef DDP_CLIENT_VERBS_POINT_SINK_H_
#define DDP_CLIENT_VERBS_POINT_SINK_H_

#include <memory>
#include <string>

#include "ddp/v1/metric.pb.h"

namespace ddp {

// Throws ExitError when a file cannot be written. Not thread-safe.
class PointSink {
 public:
  virtual ~PointSink() = default;
  virtual void Add(const v1::MetricColumn& column, int attempt) = 0;
  virtual void Add(const v1::Histogram& histogram) = 0;
  virtual void Add(const v1::Text& text) = 0;
  // What follows supersedes the steps from `step` on.
  virtual void Restart(int64_t step, double time) = 0;
  // Hands everything so far to the kernel, for those who read along.
  virtual void Flush() = 0;
  // It is complete: without this, nothing is left behind (unless it was being followed).
  virtual void Commit() = 0;
  // What was written, for the answer; empty: standard output.
  virtual std::string path() const = 0;
};

enum class ExportFormat { kTensorBoard, kCsv, kJsonLines };
struct SinkOptions {
  ExportFormat format = ExportFormat::kTensorBoard;
  std::string path;     // a folder for TensorBoard, else a file, or "-"
  bool follow = false;  // others read it while it grows
  bool force = false;   // replaces a file
  bool exact = false;   // TensorBoard: doubles
};
std::unique_ptr<PointSink> MakeSink(const SinkOptions& options);

}  // namespace ddp

#endif  // DDP_CLIENT_VERBS_POINT_SINK_H_
