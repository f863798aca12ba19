#include "server/metrics/import.h"

#include <openssl/sha.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "ddp/v1/worker.pb.h"
#include "server/telemetry.h"
#include "spec/excerpt.h"
#include "spec/spec_validation.h"

namespace ddp {
namespace {

constexpr size_t kLongestSource = 1000;
constexpr int kMostBins = 1024;
// Of one series, so that a chunk has about 200 kB and a stream of them keeps to gRPC's limits.
constexpr int kChunkPoints = 10'000;

absl::Status Wrong(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::Status CheckPlace(const std::string& where, const std::string& series, int64_t step, double time) {
  if (series.empty()) return Wrong(where, "series is empty; every series needs a name");
  if (series.size() > kLongestSeriesName) {
    return Wrong(where, absl::StrCat("series ", Excerpt(series), " has ", series.size(), " bytes; at most ",
                                     kLongestSeriesName, " are allowed"));
  }
  if (step < 0) return Wrong(where, absl::StrCat("series ", Excerpt(series), " has step ", step, "; steps begin at 0"));
  if (!std::isfinite(time)) {
    return Wrong(where, absl::StrCat("series ", Excerpt(series), " has time ", time, " at step ", step,
                                     "; it must be finite: seconds since the Unix epoch"));
  }
  return absl::OkStatus();
}

absl::Status CheckColumn(const std::string& where, const v1::MetricColumn& column) {
  if (column.step_size() != column.time_size() || column.step_size() != column.value_size()) {
    return Wrong(where, absl::StrCat("series ", Excerpt(column.series()), " has ", column.step_size(), " steps, ",
                                     column.time_size(), " times and ", column.value_size(),
                                     " values; they must be equally many"));
  }
  DDP_RETURN_IF_ERROR(CheckPlace(where, column.series(), 0, 0));
  for (int i = 0; i < column.step_size(); ++i) {
    DDP_RETURN_IF_ERROR(CheckPlace(where, column.series(), column.step(i), column.time(i)));
  }
  return absl::OkStatus();
}

absl::Status CheckHistogram(const std::string& where, const v1::Histogram& histogram) {
  DDP_RETURN_IF_ERROR(CheckPlace(where, histogram.series(), histogram.step(), histogram.time()));
  if (!std::isfinite(histogram.min()) || !std::isfinite(histogram.max()) || histogram.min() > histogram.max()) {
    return Wrong(where, absl::StrCat("min ", histogram.min(), " and max ", histogram.max(),
                                     " must be finite, and min not above max"));
  }
  if (histogram.counts().empty() || histogram.counts_size() > kMostBins) {
    return Wrong(where, absl::StrCat(histogram.counts_size(), " counts; there must be 1 to ", kMostBins));
  }
  const auto negative = [](int64_t count) { return count < 0; };
  if (std::any_of(histogram.counts().begin(), histogram.counts().end(), negative) || histogram.non_finite() < 0) {
    return Wrong(where, "counts and non_finite must not be negative");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MetricsImport::Take(const v1::ImportMetricsRequest& message, size_t max_bytes) {
  ++messages_;
  if (messages_ == 1) {
    if (!message.has_header()) return Wrong("message 1", "it must be the header");
    return TakeHeader(message.header());
  }
  if (!message.has_batch())
    return Wrong(absl::StrCat("message ", messages_), "it must be a batch: only the first is a header");
  const std::string bytes = message.batch().SerializeAsString();
  bytes_ += bytes.size();
  if (bytes_ > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("more than ", max_bytes, " bytes of points in one import; leave out series or thin them out"));
  }
  AddToHash(bytes);
  const absl::Status status = TakeBatch(message.batch());
  if (!status.ok()) telemetry.points_not_imported += PointsOf(message.batch().columns());
  return status;
}

absl::Status MetricsImport::TakeHeader(const v1::ImportMetricsHeader& header) {
  request_id_ = header.request_id();
  if (request_id_.size() > 64) return Wrong("message 1", "request_id: at most 64 bytes");
  if (header.source().empty() || header.source().size() > kLongestSource) {
    return Wrong("message 1", absl::StrCat("source has ", header.source().size(), " bytes; it must have 1 to ",
                                           kLongestSource, " and say where the points come from"));
  }
  spec_.set_name(header.name());
  *spec_.mutable_tags() = header.tags();
  spec_.mutable_imported()->set_source(header.source());
  const std::vector<v1::FieldViolation> violations = ValidateLabels(spec_);
  if (!violations.empty()) {
    return Wrong("message 1", absl::StrCat(violations[0].field(), ": ", violations[0].description()));
  }
  const std::string bytes = spec_.SerializeAsString();
  AddToHash(bytes);
  return absl::OkStatus();
}

absl::Status MetricsImport::TakeBatch(const v1::ImportMetricsBatch& batch) {
  const auto where = [this](const char* kind, int index) {
    return absl::StrCat("message ", messages_, ", ", kind, "[", index, "]");
  };
  for (int c = 0; c < batch.columns_size(); ++c) {
    const v1::MetricColumn& column = batch.columns(c);
    DDP_RETURN_IF_ERROR(CheckColumn(where("columns", c), column));
    for (int first = 0; first < column.step_size(); first += kChunkPoints) {
      const int end = std::min(first + kChunkPoints, column.step_size());
      v1::MetricBatch chunk;
      v1::MetricColumn& part = *chunk.add_columns();
      part.set_series(column.series());
      part.mutable_step()->Add(column.step().begin() + first, column.step().begin() + end);
      part.mutable_time()->Add(column.time().begin() + first, column.time().begin() + end);
      part.mutable_value()->Add(column.value().begin() + first, column.value().begin() + end);
      chunks_.push_back(chunk.SerializeAsString());
    }
    for (const int64_t step : column.step()) last_step_ = std::max(last_step_, step);
    counts_.set_points(counts_.points() + column.step_size());
  }
  for (int h = 0; h < batch.histograms_size(); ++h) {
    DDP_RETURN_IF_ERROR(CheckHistogram(where("histograms", h), batch.histograms(h)));
    histograms_.push_back(batch.histograms(h));
    last_step_ = std::max(last_step_, histograms_.back().step());
  }
  for (int t = 0; t < batch.texts_size(); ++t) {
    const v1::Text& text = batch.texts(t);
    DDP_RETURN_IF_ERROR(CheckPlace(where("texts", t), text.series(), text.step(), text.time()));
    texts_.push_back(text);
    last_step_ = std::max(last_step_, text.step());
  }
  counts_.set_histograms(static_cast<int64_t>(histograms_.size()));
  counts_.set_texts(static_cast<int64_t>(texts_.size()));
  return absl::OkStatus();
}

absl::Status MetricsImport::Finish() {
  if (messages_ == 0) return absl::InvalidArgumentError("nothing was sent; the first message must be the header");
  return absl::OkStatus();
}

void MetricsImport::AddToHash(const std::string& bytes) {
  const std::string all = hash_ + bytes;
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), digest);
  hash_.assign(reinterpret_cast<const char*>(digest), sizeof(digest));
}

void MetricsImport::AddTo(WriteBatch& batch, const std::string& job_id) const {
  uint64_t seq = 0;
  for (const std::string& chunk : chunks_) batch.AddChunk(job_id, {++seq, 1, 0, chunk});
  if (!histograms_.empty()) batch.AddHistograms(job_id, {1, 0, histograms_});
  if (!texts_.empty()) batch.AddTexts(job_id, {1, 0, texts_});
}

}  // namespace ddp
