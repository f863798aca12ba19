// A fuzzer's input as a file, for readers that want one.
#ifndef DDP_WORKER_CHECKPOINT_FUZZ_FUZZ_FILE_H_
#define DDP_WORKER_CHECKPOINT_FUZZ_FUZZ_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ddp {

// In memory, with a path as long as it lives.
class FuzzFile {
 public:
  FuzzFile(const uint8_t* data, size_t size) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (write(fd_, data, size) != static_cast<ssize_t>(size)) __builtin_trap();
  }
  ~FuzzFile() { close(fd_); }
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

}  // namespace ddp

#endif  // DDP_WORKER_CHECKPOINT_FUZZ_FUZZ_FILE_H_
