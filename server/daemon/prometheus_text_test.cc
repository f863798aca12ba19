#include "server/daemon/prometheus_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace ddp {
namespace {

TEST(PrometheusTextTest, Samples) {
  PrometheusText out;
  out.Family("a_total", "counter", "Things.");
  out.Sample(3, {{"kind", "x"}, {"name", "q\"b\\n\n"}});
  out.Sample(0.1);
  out.One("b", "gauge", "B.", std::numeric_limits<double>::quiet_NaN());
  out.One("c", "gauge", "C.", 16777217);
  out.One("d", "gauge", "D.", 1e300);
  EXPECT_EQ(
      out.text(),
      "# HELP a_total Things.\n# TYPE a_total counter\na_total{kind=\"x\",name=\"q\\\"b\\\\n\\n\"} 3\na_total 0.1\n"
      "# HELP b B.\n# TYPE b gauge\nb NaN\n"
      "# HELP c C.\n# TYPE c gauge\nc 16777217\n"
      "# HELP d D.\n# TYPE d gauge\nd 1e+300\n");
}

TEST(PrometheusTextTest, HistogramsAreCumulative) {
  TimeHistogram histogram;
  histogram.Observe(absl::Milliseconds(1));  // a bound belongs to its own bucket
  histogram.Observe(absl::Milliseconds(2));
  histogram.Observe(absl::Seconds(20));
  histogram.Observe(absl::Hours(25));
  PrometheusText out;
  out.Histogram("t_seconds", "T.", histogram);
  EXPECT_EQ(out.text(),
            "# HELP t_seconds T.\n# TYPE t_seconds histogram\n"
            "t_seconds_bucket{le=\"0.0005\"} 0\nt_seconds_bucket{le=\"0.001\"} 1\nt_seconds_bucket{le=\"0.0025\"} 2\n"
            "t_seconds_bucket{le=\"0.005\"} 2\nt_seconds_bucket{le=\"0.01\"} 2\nt_seconds_bucket{le=\"0.025\"} 2\n"
            "t_seconds_bucket{le=\"0.1\"} 2\nt_seconds_bucket{le=\"0.5\"} 2\nt_seconds_bucket{le=\"2.5\"} 2\n"
            "t_seconds_bucket{le=\"10\"} 2\nt_seconds_bucket{le=\"60\"} 3\nt_seconds_bucket{le=\"600\"} 3\n"
            "t_seconds_bucket{le=\"86400\"} 3\nt_seconds_bucket{le=\"+Inf\"} 4\n"
            "t_seconds_sum 90020.003\nt_seconds_count 4\n");
}

}  // namespace
}  // namespace ddp
