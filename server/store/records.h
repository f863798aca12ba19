// What the store keeps of a job beside the public Job message.
#ifndef DDP_SERVER_STORE_RECORDS_H_
#define DDP_SERVER_STORE_RECORDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddp/v1/job.pb.h"
#include "ddp/v1/metric.pb.h"

namespace ddp {

struct JobRecord {
  v1::Job job;              // with its attempts, oldest first
  std::string request_id;   // empty: the client gave none
  std::string spec_hash;    // of the spec as the client sent it: tells a replay from a clash
  std::string init_path;    // what init_from was resolved to; empty: none
  int failures_in_row = 0;  // attempts that failed, or stopped unasked, since the last progress (a new checkpoint)
  std::vector<int> slots;   // held while the state holds slots
  uint64_t last_event = 0;  // seq of the newest JobEvent

  // Of the newest attempt.
  std::string secret;      // empty once that attempt has ended
  uint64_t acked_seq = 0;  // every runner event up to here is in the store
};

// Metric points of one runner event.
struct MetricChunk {
  uint64_t seq = 0;  // from 1 within the job
  int32_t attempt = 0;
  int64_t start_step = 0;  // of that attempt
  std::string batch;       // a serialized v1::MetricBatch
};

// The same, while it is being read.
struct ChunkView {
  uint64_t seq = 0;
  int32_t attempt = 0;
  int64_t start_step = 0;
  std::string_view batch;
};

// A job whose points are to be thinned out.
struct EndedJob {
  std::string id;
  int64_t end_time = 0;        // microseconds
  uint64_t thinned_up_to = 0;  // its chunks up to this one have been; 0: none
  uint64_t last_seq = 0;       // of its newest chunk
};

// A part of a job's chunks, thinned out.
struct ThinnedChunks {
  int64_t end_time = 0;                                    // of the EndedJob
  uint64_t up_to = 0;                                      // the newest one that has been looked at
  bool done = false;                                       // no other is left
  std::vector<std::pair<uint64_t, std::string>> replaced;  // seq and what is left of the batch
  std::vector<uint64_t> deleted;
};

// Histograms of one runner event.
struct HistogramBatch {
  int32_t attempt = 0;
  int64_t start_step = 0;  // of that attempt
  std::vector<v1::Histogram> histograms;
};

// Texts of one runner event.
struct TextBatch {
  int32_t attempt = 0;
  int64_t start_step = 0;  // of that attempt
  std::vector<v1::Text> texts;
};
// Longer ones are cut, between two characters.
inline constexpr size_t kLongestText = size_t{64} << 10;

// What a job has of one series of histograms or texts, without what later attempts have superseded.
struct SeriesExtent {
  std::string series;
  int64_t steps = 0;
  int64_t last_step = 0;
};

// Where one histogram lies.
struct HistogramKey {
  int64_t step = 0;
  int32_t attempt = 0;
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_RECORDS_H_
