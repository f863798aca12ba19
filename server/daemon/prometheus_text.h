// Prometheus' text format 0.0.4.
#ifndef DDP_SERVER_DAEMON_PROMETHEUS_TEXT_H_
#define DDP_SERVER_DAEMON_PROMETHEUS_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "server/telemetry.h"

namespace ddp {

// The client library of Debian keeps every set of labels for ever, and wants its values pushed; here they are all read
// when they are asked for, so a job that ends takes its series along.
class PrometheusText {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // Samples that follow belong to it. The type: "counter", "gauge".
  void Family(const std::string& name, const std::string& type, const std::string& help);
  void Sample(double value, const Labels& labels = {});
  // A family of one sample.
  void One(const std::string& name, const std::string& type, const std::string& help, double value);
  void Histogram(const std::string& name, const std::string& help, const TimeHistogram& histogram);

  const std::string& text() const { return text_; }

 private:
  void Line(const std::string& name, const Labels& labels, double value);

  std::string name_;
  std::string text_;
};

}  // namespace ddp

#endif  // DDP_SERVER_DAEMON_PROMETHEUS_TEXT_H_
