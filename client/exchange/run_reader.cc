#include "client/exchange/run_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/exchange/records.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace ddp {

namespace {

constexpr char kMark[] = "tfevents";
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kPointBytes = 24;

// What one reading of a run has met.
struct Pass {
  EventDecoder decoder;
  int64_t damaged = 0, too_large = 0, no_event = 0;
  std::vector<std::string> notices;
  uint64_t number = 0;
};

using Take = std::function<absl::Status(uint64_t number, EventPoint& point)>;

// At most so many records: what is appended after the first reading is left for another time.
absl::Status ReadEventFile(const std::string& path, uint64_t most, uint64_t* records, Pass& pass,
                           const std::function<void(uint64_t number, int64_t step)>& restarted, const Take& take) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("cannot open ", EscapeControls(path)));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(EscapeControls(path), " is not a regular file"));
  }
  RecordReader reader([&](char* buffer, size_t size) -> absl::StatusOr<size_t> {
    for (;;) {
      const ssize_t n = read(fd.get(), buffer, size);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) return ErrnoStatus(errno, absl::StrCat("cannot read ", EscapeControls(path)));
    }
  });
  std::string data;
  std::vector<EventPoint> points;
  for (*records = 0; *records < most; ++*records) {
    auto found = reader.Next(data);
    if (!found.ok() && found.status().code() == absl::StatusCode::kDataLoss) {
      // What came before is good; where the next record begins is not known.
      pass.notices.push_back(absl::StrCat(EscapeControls(path), ": ", std::string(found.status().message()),
                                          "; the rest of the file was left out"));
      return absl::OkStatus();
    }
    if (!found.ok()) return found.status();
    if (*found == RecordReader::Found::kEnd) return absl::OkStatus();
    if (*found == RecordReader::Found::kTorn) {
      pass.notices.push_back(absl::StrCat(EscapeControls(path), ": its last record is not complete"));
      return absl::OkStatus();
    }
    pass.damaged += *found == RecordReader::Found::kDamaged;
    pass.too_large += *found == RecordReader::Found::kTooLarge;
    if (*found != RecordReader::Found::kRecord) continue;
    points.clear();
    const absl::Status status = pass.decoder.Decode(data, points);
    if (status.code() == absl::StatusCode::kInvalidArgument) {
      ++pass.no_event;
      continue;
    }
    DDP_RETURN_IF_ERROR(status);
    if (pass.decoder.restart()) restarted(pass.number, *pass.decoder.restart());
    for (EventPoint& point : points) DDP_RETURN_IF_ERROR(take(pass.number++, point));
  }
  return absl::OkStatus();
}

// Collects points until there are enough for a message.
class Batcher {
 public:
  explicit Batcher(const std::function<absl::Status(const v1::ImportMetricsBatch&)>& sink) : sink_(sink) {}
  absl::Status Add(EventPoint& point, RunReport& report) {
    if (const auto* value = std::get_if<double>(&point.value)) {
      const auto [at, added] = columns_.emplace(point.series, batch_.columns_size());
      v1::MetricColumn& column = added ? *batch_.add_columns() : *batch_.mutable_columns(at->second);
      if (added) column.set_series(point.series);
      column.add_step(point.step);
      column.add_time(point.time);
      column.add_value(*value);
      bytes_ += kPointBytes + (added ? point.series.size() : 0);
      ++report.points;
    } else if (auto* histogram = std::get_if<v1::Histogram>(&point.value)) {
      bytes_ += histogram->ByteSizeLong();
      batch_.add_histograms()->Swap(histogram);
      ++report.histograms;
    } else {
      v1::Text& text = *batch_.add_texts();
      text.set_series(point.series);
      text.set_step(point.step);
      text.set_time(point.time);
      text.set_text(std::get<std::string>(point.value));
      bytes_ += text.ByteSizeLong();
      ++report.texts;
    }
    return bytes_ < kPieceBytes ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() {
    if (bytes_ == 0) return absl::OkStatus();
    DDP_RETURN_IF_ERROR(sink_(batch_));
    batch_.Clear();
    columns_.clear();
    bytes_ = 0;
    return absl::OkStatus();
  }

 private:
  const std::function<absl::Status(const v1::ImportMetricsBatch&)>& sink_;
  v1::ImportMetricsBatch batch_;
  std::map<std::string, int> columns_;  // index in batch_
  size_t bytes_ = 0;
};

}  // namespace

void Restarts::Saw(uint64_t number, int64_t step) {
  if (step <= last_) RestartedAt(number, step);
  last_ = step;
}

void Restarts::RestartedAt(uint64_t number, int64_t step) {
  while (!restarts_.empty() && restarts_.back().step >= step) restarts_.pop_back();
  restarts_.push_back({number, step});
}

bool Restarts::Stays(uint64_t number, int64_t step) const {
  const auto after = std::upper_bound(restarts_.begin(), restarts_.end(), number,
                                      [](uint64_t n, const Restart& restart) { return n < restart.number; });
  // The first one after the point goes back the furthest.
  return after == restarts_.end() || after->step > step;
}

absl::StatusOr<std::vector<Run>> FindRuns(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return absl::NotFoundError(absl::StrCat(EscapeControls(path), " does not exist"));
  if (!fs::is_directory(status)) return std::vector<Run>{{fs::path(path).parent_path().filename().string(), {path}}};
  std::map<std::string, std::vector<std::string>> found;
  fs::recursive_directory_iterator files(path, error);
  for (; !error && files != fs::recursive_directory_iterator(); files.increment(error)) {
    if (!absl::StrContains(files->path().filename().string(), kMark) || !files->is_regular_file(error)) continue;
    found[fs::relative(files->path().parent_path(), path, error).string()].push_back(files->path().string());
  }
  if (error) return absl::InternalError(absl::StrCat("cannot list ", EscapeControls(path), ": ", error.message()));
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat(EscapeControls(path), ": there is no event file (*", kMark, "*) in it"));
  }
  std::vector<Run> runs;
  for (auto& [name, names] : found) {
    std::sort(names.begin(), names.end());  // their names begin with the time
    runs.push_back({name, std::move(names)});
  }
  return runs;
}

absl::StatusOr<RunReport> ReadRun(const Run& run,
                                  const std::function<absl::Status(const v1::ImportMetricsBatch&)>& sink) {
  std::map<std::string, Restarts> by_series;
  Restarts of_all;
  std::vector<uint64_t> records;
  Pass first;
  for (const std::string& file : run.files) {
    records.push_back(0);
    DDP_RETURN_IF_ERROR(ReadEventFile(
        file, std::numeric_limits<uint64_t>::max(), &records.back(), first,
        [&](uint64_t number, int64_t step) { of_all.RestartedAt(number, step); },
        [&](uint64_t number, EventPoint& point) {
          by_series[point.series].Saw(number, point.step);
          return by_series.size() <= EventDecoder::kMostTags
                     ? absl::OkStatus()
                     : absl::ResourceExhaustedError(absl::StrCat("more than ", EventDecoder::kMostTags, " series"));
        }));
  }
  RunReport report;
  Pass second;
  Batcher batcher(sink);
  for (size_t i = 0; i < run.files.size(); ++i) {
    uint64_t again = 0;
    DDP_RETURN_IF_ERROR(ReadEventFile(
        run.files[i], records[i], &again, second, [](uint64_t, int64_t) {},
        [&](uint64_t number, EventPoint& point) -> absl::Status {
          // RestartedAt(n) comes before point n.
          if (by_series[point.series].Stays(number, point.step) && of_all.Stays(number, point.step)) {
            return batcher.Add(point, report);
          }
          ++report.superseded;
          return absl::OkStatus();
        }));
  }
  DDP_RETURN_IF_ERROR(batcher.Flush());
  report.notices = std::move(first.notices);
  const auto note = [&](int64_t count, const std::string& what) {
    if (count > 0) report.notices.push_back(absl::StrCat(count, " ", what, " left out"));
  };
  note(first.damaged, "records with a wrong checksum");
  note(first.too_large, "records of more than 64 MiB");
  note(first.no_event, "records that are no events");
  for (const auto& [what, count] : first.decoder.left_out()) note(count, what);
  return report;
}

}  // namespace ddp
