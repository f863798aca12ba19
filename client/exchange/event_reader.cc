#include "client/exchange/event_reader.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/exchange/event.pb.h"
#include "client/exchange/rebin.h"
#include "common/text.h"

namespace ddp {

namespace {

using exchange::TensorProto;

constexpr size_t kLongestName = 1024;
constexpr size_t kLongestText = size_t{64} << 10;

// Packed numbers. Empty: their number does not fit.
template <typename Number>
std::vector<double> FromContent(const std::string& bytes) {
  std::vector<double> values;
  if (bytes.size() % sizeof(Number) != 0) return values;
  for (size_t at = 0; at < bytes.size(); at += sizeof(Number)) {
    Number value;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    values.push_back(static_cast<double>(value));
  }
  return values;
}

// As written: a tensor may say its last value once for all that follow, which nobody does for what we read.
std::vector<double> Numbers(const TensorProto& tensor) {
  const std::string& content = tensor.tensor_content();
  switch (tensor.dtype()) {
    case TensorProto::DT_FLOAT:
      if (!content.empty()) return FromContent<float>(content);
      return {tensor.float_val().begin(), tensor.float_val().end()};
    case TensorProto::DT_DOUBLE:
      if (!content.empty()) return FromContent<double>(content);
      return {tensor.double_val().begin(), tensor.double_val().end()};
    case TensorProto::DT_INT32:
      if (!content.empty()) return FromContent<int32_t>(content);
      return {tensor.int_val().begin(), tensor.int_val().end()};
    case TensorProto::DT_INT64: {
      if (!content.empty()) return FromContent<int64_t>(content);
      std::vector<double> values;
      for (const int64_t value : tensor.int64_val()) values.push_back(static_cast<double>(value));
      return values;
    }
    default:
      return {};
  }
}

// The range that the bins with values have, within min..max where the file says it.
std::optional<v1::Histogram> OfBins(std::vector<Bin> bins, double min, double max) {
  std::vector<Bin> filled;
  for (const Bin& bin : bins) {
    if (bin.count > 0) filled.push_back(bin);
  }
  if (filled.empty()) return Rebin({}, 0, 0);
  if (std::isnan(min)) min = filled.front().left;
  if (std::isnan(max)) max = filled.back().right;
  return Rebin(std::move(bins), min, max);
}

std::optional<v1::Histogram> FromHisto(const exchange::HistogramProto& histo) {
  if (histo.bucket_limit_size() != histo.bucket_size()) return std::nullopt;
  std::vector<Bin> bins;
  double left = -std::numeric_limits<double>::max();
  for (int i = 0; i < histo.bucket_size(); ++i) {
    bins.push_back({left, histo.bucket_limit(i), histo.bucket(i)});
    left = histo.bucket_limit(i);
  }
  return OfBins(std::move(bins), histo.min(), histo.max());
}

// Rows of left, right, count.
std::optional<v1::Histogram> FromTensor(const TensorProto& tensor) {
  const std::vector<double> numbers = Numbers(tensor);
  if (numbers.empty() || numbers.size() % 3 != 0) return std::nullopt;
  std::vector<Bin> bins;
  for (size_t i = 0; i < numbers.size(); i += 3) bins.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  return OfBins(std::move(bins), kUnknown, kUnknown);
}

// One line a string.
std::string TextOf(const TensorProto& tensor) {
  std::string text;
  for (int i = 0; i < tensor.string_val_size() && text.size() <= kLongestText; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "\n", tensor.string_val(i));
  }
  for (size_t at = 0; (at = FindInvalidUtf8(text)) != std::string::npos;) text[at] = '?';
  return std::string(CutUtf8(text, kLongestText));
}

}  // namespace

absl::Status EventDecoder::Decode(const std::string& record, std::vector<EventPoint>& points) {
  restart_.reset();
  exchange::Event event;
  if (!event.ParseFromString(record)) return absl::InvalidArgumentError("a record is no event");
  if (event.has_session_log() && event.session_log().status() == exchange::SessionLog::START) restart_ = event.step();
  for (const exchange::Summary::Value& value : event.summary().value()) {
    const std::string& tag = value.tag();
    std::string plugin = value.metadata().plugin_data().plugin_name();
    if (plugin.empty()) {
      if (const auto known = plugins_.find(tag); known != plugins_.end()) plugin = known->second;
    } else {
      plugins_.emplace(tag, plugin);
      if (plugins_.size() > kMostTags) {
        return absl::ResourceExhaustedError(absl::StrCat("more than ", kMostTags, " names of series"));
      }
    }
    if (tag.empty() || tag.size() > kLongestName || !IsValidUtf8(tag)) {
      ++left_out_["names that are empty, too long or not UTF-8"];
      continue;
    }
    if (event.step() < 0) {
      ++left_out_["steps below 0"];
      continue;
    }
    EventPoint point{tag, event.step(), event.wall_time(), 0.0};
    if (value.has_simple_value()) {
      point.value = static_cast<double>(value.simple_value());
    } else if (value.has_histo() || (value.has_tensor() && plugin == "histograms")) {
      std::optional<v1::Histogram> histogram =
          value.has_histo() ? FromHisto(value.histo()) : FromTensor(value.tensor());
      if (!histogram) {
        ++left_out_["histograms whose bins do not rise or are not finite"];
        continue;
      }
      histogram->set_series(tag);
      histogram->set_step(point.step);
      histogram->set_time(point.time);
      point.value = *std::move(histogram);
    } else if (value.has_tensor() && plugin == "text" && value.tensor().dtype() == TensorProto::DT_STRING) {
      point.value = TextOf(value.tensor());
    } else if (value.has_tensor() && plugin == "scalars" && Numbers(value.tensor()).size() == 1) {
      point.value = Numbers(value.tensor())[0];
    } else {
      ++left_out_[plugin.empty() ? std::string("values of other kinds")
                                 : absl::StrCat("values of ", EscapeControls(plugin))];
      if (left_out_.size() > kMostTags) return absl::ResourceExhaustedError("too many kinds of values");
      continue;
    }
    points.push_back(std::move(point));
  }
  return absl::OkStatus();
}

}  // namespace ddp
