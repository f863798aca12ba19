// A file that appears whole.
#ifndef DDP_CLIENT_NEW_FILE_H_
#define DDP_CLIENT_NEW_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/files.h"

namespace ddp {

// A file that appears under its name only when it is complete.
class NewFile {
 public:
  // Throws ExitError, as all others do: kUsage when the file is there already and `replace` is false.
  NewFile(std::string path, bool replace);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  void Append(const std::string& bytes);
  void Commit();
  int64_t size() const { return size_; }

 private:
  [[noreturn]] void Fail(const absl::Status& status) const;

  const std::string path_;
  const std::string temporary_;
  const bool replace_;
  UniqueFd fd_;
  int64_t size_ = 0;
};

}  // namespace ddp

#endif  // DDP_CLIENT_NEW_FILE_H_
