#include "client/exchange/event_writer.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/exchange/event.pb.h"
#include "client/exchange/records.h"

namespace ddp {

namespace {

exchange::Event At(int64_t step, double time) {
  exchange::Event event;
  event.set_step(step);
  event.set_wall_time(time);
  return event;
}

std::string ToRecord(const exchange::Event& event) { return Record(event.SerializeAsString()); }

}  // namespace

std::string VersionRecord(double time) {
  exchange::Event event = At(0, time);
  event.set_file_version("brain.Event:2");
  return ToRecord(event);
}

std::string ScalarRecord(const std::string& series, int64_t step, double time, double value, bool exact) {
  exchange::Event event = At(step, time);
  exchange::Summary::Value& summary = *event.mutable_summary()->add_value();
  summary.set_tag(series);
  if (!exact) {
    summary.set_simple_value(static_cast<float>(value));
    return ToRecord(event);
  }
  summary.mutable_metadata()->mutable_plugin_data()->set_plugin_name("scalars");
  summary.mutable_metadata()->set_data_class(exchange::SummaryMetadata::DATA_CLASS_SCALAR);
  exchange::TensorProto& tensor = *summary.mutable_tensor();
  tensor.set_dtype(exchange::TensorProto::DT_DOUBLE);
  tensor.mutable_tensor_shape();  // no dimensions: one number
  tensor.add_double_val(value);
  return ToRecord(event);
}

std::string HistogramRecord(const v1::Histogram& histogram) {
  exchange::Event event = At(histogram.step(), histogram.time());
  exchange::Summary::Value& summary = *event.mutable_summary()->add_value();
  summary.set_tag(histogram.series());
  exchange::HistogramProto& histo = *summary.mutable_histo();
  const int bins = histogram.counts_size();
  const double min = histogram.min(), max = histogram.max();
  histo.set_min(min);
  histo.set_max(max);
  for (int i = 0; i < bins; ++i) {
    const double count = static_cast<double>(histogram.counts(i));
    const double width = max / bins - min / bins;
    // As if each value lay in the middle of its bin.
    const double middle = min + width * (i + 0.5);
    histo.set_num(histo.num() + count);
    histo.set_sum(histo.sum() + count * middle);
    histo.set_sum_squares(histo.sum_squares() + count * middle * middle);
    histo.add_bucket_limit(i + 1 == bins ? max : min + width * (i + 1));
    histo.add_bucket(count);
  }
  return ToRecord(event);
}

std::string TextRecord(const v1::Text& text) {
  exchange::Event event = At(text.step(), text.time());
  exchange::Summary::Value& summary = *event.mutable_summary()->add_value();
  summary.set_tag(text.series());
  summary.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  summary.mutable_metadata()->set_data_class(exchange::SummaryMetadata::DATA_CLASS_TENSOR);
  exchange::TensorProto& tensor = *summary.mutable_tensor();
  tensor.set_dtype(exchange::TensorProto::DT_STRING);
  tensor.mutable_tensor_shape()->add_dim()->set_size(1);
  tensor.add_string_val(text.text());
  return ToRecord(event);
}

std::string RestartRecord(int64_t step, double time) {
  exchange::Event event = At(step, time);
  event.mutable_session_log()->set_status(exchange::SessionLog::START);
  return ToRecord(event);
}

std::string EventFileName(int64_t unix_seconds, const std::string& host, int64_t pid, int number) {
  return absl::StrCat("events.out.tfevents.", absl::StrFormat("%010d", unix_seconds), ".", host, ".", pid, ".", number);
}

}  // namespace ddp
