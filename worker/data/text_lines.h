// Text files, a line at a time.
#ifndef DDP_WORKER_DATA_TEXT_LINES_H_
#define DDP_WORKER_DATA_TEXT_LINES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/raw_samples.h"
#include "worker/formats/input_file.h"

namespace ddp {

// Lines of UTF-8 text that end with LF or CR LF; a byte order mark is skipped; lines of nothing but spaces and tabs are
// passed over; UTF-16, NUL bytes and anything else that is not UTF-8 are refused. Not thread-safe; borrows the content.
class LineReader {
 public:
  // whole: false when content is only the head of the file; the line that its end cuts is then left out.
  LineReader(std::string_view content, std::string name, bool whole);

  // False at the end. InvalidArgument "NAME:LINE: byte N: ..." for bytes that are no text.
  absl::StatusOr<bool> Next();
  std::string_view line() const { return line_; }  // without its end
  // "NAME:LINE: what".
  absl::Status Error(std::string_view what) const;

 private:
  absl::Status CheckText() const;

  std::string_view content_;
  std::string name_;
  bool whole_;
  size_t at_ = 0;
  size_t begin_ = 0;  // of the line
  int64_t number_ = 0;
  std::string_view line_;
};

// Calls `add` for each line, which makes one sample of lines.line(), until max_rows are there (samples->whole is then
// false). Errors of the reader are FieldErrors of `field`, those of `add` are given back as they are.
absl::Status AddLines(LineReader& lines, std::string_view field, int64_t max_rows, const StopCheck& should_stop,
                      const std::function<absl::Status()>& add, RawSamples* samples);

// One sample for each line, at most max_rows. Errors are FieldErrors of `field`.
absl::StatusOr<RawSamples> ReadTextLines(const std::string& path, const InputFile& file, std::string_view field,
                                         int64_t max_rows, const StopCheck& should_stop);

}  // namespace ddp

#endif  // DDP_WORKER_DATA_TEXT_LINES_H_
