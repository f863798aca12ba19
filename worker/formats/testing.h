// Helpers for tests of files.
#ifndef DDP_WORKER_FORMATS_TESTING_H_
#define DDP_WORKER_FORMATS_TESTING_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "worker/formats/byte_sink.h"

namespace ddp {

class StringSink final : public ByteSink {
 public:
  absl::Status Append(std::string_view bytes) override {
    text += bytes;
    return absl::OkStatus();
  }
  std::string text;
};

// A folder of its own, removed at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = ::testing::TempDir() + "/ddp_test.XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }

 private:
  std::string path_;
};

}  // namespace ddp

#endif  // DDP_WORKER_FORMATS_TESTING_H_
