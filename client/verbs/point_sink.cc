#include "client/verbs/point_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/exchange/event_writer.h"
#include "client/exchange/rows.h"
#include "client/exit_codes.h"
#include "client/new_file.h"
#include "client/print.h"
#include "common/files.h"
#include "common/text.h"

namespace ddp {

namespace {

constexpr size_t kPiece = size_t{1} << 20;

[[noreturn]] void Fail(const std::string& path, const absl::Status& status) {
  throw ExitError(kRefused, absl::StrCat(EscapeControls(path), ": ", std::string(status.message())));
}

// A file that grows under its own name.
class GrowingFile {
 public:
  // AlreadyExists: it is there.
  absl::Status Open(const std::string& path, int flags) {
    path_ = path;
    fd_ = UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666));
    return fd_.valid() ? absl::OkStatus() : ErrnoStatus(errno, "cannot make it");
  }
  void Append(const std::string& bytes) {
    if (const absl::Status status = WriteAll(fd_.get(), bytes); !status.ok()) Fail(path_, status);
  }
  void Sync() {
    if (fsync(fd_.get()) != 0) Fail(path_, ErrnoStatus(errno, "cannot sync it"));
  }

 private:
  std::string path_;
  UniqueFd fd_;
};

class EventSink final : public PointSink {
 public:
  explicit EventSink(const SinkOptions& options) : options_(options) {
    std::error_code error;
    std::filesystem::create_directories(options.path, error);
    if (error) throw ExitError(kUsage, absl::StrCat("-o ", EscapeControls(options.path), ": ", error.message()));
    char host[256] = "localhost";
    if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
    const int64_t now = absl::ToUnixSeconds(absl::Now());
    // A name that another export of this second has taken is left to it.
    absl::Status made;
    for (int number = 0; number < 1000; ++number) {
      file_name_ = absl::StrCat(options.path, "/", EventFileName(now, host, getpid(), number));
      made = file_.Open(file_name_, O_EXCL);
      if (made.code() != absl::StatusCode::kAlreadyExists) break;
    }
    if (!made.ok()) Fail(file_name_, made);
    buffer_ = VersionRecord(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
    Flush();
  }
  ~EventSink() override {
    if (!committed_ && !options_.follow) unlink(file_name_.c_str());
  }
  void Add(const v1::MetricColumn& column, int) override {
    for (int i = 0; i < column.step_size(); ++i) {
      Put(ScalarRecord(column.series(), column.step(i), column.time(i), column.value(i), options_.exact));
    }
  }
  void Add(const v1::Histogram& histogram) override { Put(HistogramRecord(histogram)); }
  void Add(const v1::Text& text) override { Put(TextRecord(text)); }
  void Restart(int64_t step, double time) override { Put(RestartRecord(step, time)); }
  void Flush() override {
    file_.Append(buffer_);
    buffer_.clear();
  }
  void Commit() override {
    Flush();
    file_.Sync();
    committed_ = true;
  }
  std::string path() const override { return file_name_; }

 private:
  void Put(const std::string& record) {
    buffer_ += record;
    if (buffer_.size() >= kPiece) Flush();
  }

  const SinkOptions options_;
  std::string file_name_;
  GrowingFile file_;
  std::string buffer_;
  bool committed_ = false;
};

// CSV holds scalars only.
class RowSink final : public PointSink {
 public:
  explicit RowSink(const SinkOptions& options) : options_(options) {
    if (options.path != "-" && options.follow) {
      const absl::Status made = growing_.Open(options.path, options.force ? O_TRUNC : O_EXCL);
      if (made.code() == absl::StatusCode::kAlreadyExists) {
        throw ExitError(kUsage, EscapeControls(options.path) + " is there already; --force replaces it");
      }
      if (!made.ok()) Fail(options.path, made);
    } else if (options.path != "-") {
      whole_.emplace(options.path, options.force);
    }
    if (csv()) Put(kCsvHeader);
  }
  void Add(const v1::MetricColumn& column, int attempt) override {
    Put(csv() ? CsvRows(column, attempt) : JsonLines(column, attempt));
  }
  void Add(const v1::Histogram& histogram) override {
    if (!csv()) Put(JsonLine(histogram));
  }
  void Add(const v1::Text& text) override {
    if (!csv()) Put(JsonLine(text));
  }
  void Restart(int64_t, double) override {}  // each row has its attempt
  void Flush() override {
    if (options_.path == "-") {
      Print(buffer_);
    } else if (whole_) {
      whole_->Append(buffer_);
    } else {
      growing_.Append(buffer_);
    }
    buffer_.clear();
  }
  void Commit() override {
    Flush();
    if (whole_) {
      whole_->Commit();
    } else if (options_.path != "-") {
      growing_.Sync();
    }
  }
  std::string path() const override { return options_.path == "-" ? "" : options_.path; }

 private:
  bool csv() const { return options_.format == ExportFormat::kCsv; }
  void Put(const std::string& rows) {
    buffer_ += rows;
    if (buffer_.size() >= kPiece) Flush();
  }

  const SinkOptions options_;
  std::optional<NewFile> whole_;
  GrowingFile growing_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<PointSink> MakeSink(const SinkOptions& options) {
  if (options.format == ExportFormat::kTensorBoard) return std::make_unique<EventSink>(options);
  return std::make_unique<RowSink>(options);
}

}  // namespace ddp
