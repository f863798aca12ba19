// The parts of ddpctl metrics.
#ifndef DDP_CLIENT_VERBS_METRICS_VERBS_H_
#define DDP_CLIENT_VERBS_METRICS_VERBS_H_

#include <string>
#include <vector>

#include "client/verbs/verbs.h"

namespace ddp {

struct PlotFlags {
  bool on = false;
  bool overlay = false;
  bool log_y = false;
  int width = 0;  // 0: of the terminal, or 80
  int height = 12;
  double smooth = 0;
  v1::XAxis x = v1::X_AXIS_STEP;
};
void AddPlotFlags(CLI::App& verb, PlotFlags& flags, Globals& globals);
// metrics JOB --plot. No series: those that tell of a training, or the first ones.
void PlotMetrics(const std::string& job, std::vector<std::string> series, int attempt, const PlotFlags& flags,
                 Connection& connection);

void AddMetricsExport(CLI::App& metrics, Globals& globals);
void AddMetricsImport(CLI::App& metrics, Globals& globals);

}  // namespace ddp

#endif  // DDP_CLIENT_VERBS_METRICS_VERBS_H_
