// Strict RFC 4180 records out of text in memory, with any one-byte separator.
#ifndef DDP_WORKER_DATA_CSV_H_
#define DDP_WORKER_DATA_CSV_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ddp {

struct CsvField {
  std::string_view value;  // without quotes, "" read as "; valid until the next Next()
  size_t offset = 0;       // of the field's first byte (inside the quotes) from the start of the content
};

// A byte order mark is skipped; UTF-16 and NUL bytes are refused; quotes may only enclose whole fields; lines end with
// LF or CR LF, the last one may lack it; every record has as many fields as the first. Errors: InvalidArgument
// "NAME:LINE: ...". Not thread-safe; borrows the content.
class CsvReader {
 public:
  // name: of the file, for errors. whole: false when content is only the head of the file; a record that its end cuts
  // is then left out.
  CsvReader(std::string_view content, std::string name, char separator, bool whole);

  // Reads the next record. False at the end.
  absl::StatusOr<bool> Next();
  const std::vector<CsvField>& fields() const { return fields_; }
  // Where the record begins, from 1.
  int64_t line() const { return record_line_; }
  // "NAME:LINE: what" for the current record.
  absl::Status Error(std::string_view what) const { return ErrorAtLine(record_line_, what); }
  // The same for the line that holds the byte at `offset`.
  absl::Status ErrorAtByte(size_t offset, std::string_view what) const;

 private:
  enum class Outcome { kField, kLastField, kCut };  // kCut: the content ends inside the field

  absl::Status ErrorAtLine(int64_t line, std::string_view what) const;
  absl::Status SkipByteOrderMark();
  absl::Status NulError(size_t at) const;
  absl::StatusOr<Outcome> ReadField();
  absl::StatusOr<Outcome> ReadQuoted();
  absl::StatusOr<Outcome> EndField();
  void ResolveUnescaped();

  std::string_view content_;
  std::string name_;
  char separator_;
  bool whole_;
  size_t at_ = 0;
  int64_t line_ = 1;
  int64_t record_line_ = 1;
  size_t width_ = 0;  // fields of the first record
  std::vector<CsvField> fields_;
  // Fields with doubled quotes, unescaped. The text moves while it grows, so views into it are made at the record's
  // end.
  struct Unescaped {
    size_t field;
    size_t begin;
    size_t size;
  };
  std::string scratch_;
  std::vector<Unescaped> unescaped_;
};

}  // namespace ddp

#endif  // DDP_WORKER_DATA_CSV_H_
