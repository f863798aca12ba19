// Files for tests.
#ifndef DDP_WORKER_DATA_TESTING_H_
#define DDP_WORKER_DATA_TESTING_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "worker/data/dataset.h"

namespace ddp {

// A folder of its own for each test.
class DataTest : public ::testing::Test {
 protected:
  DataTest() {
    std::string name = ::testing::TempDir() + "/data_test.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~DataTest() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary | std::ios::trunc) << bytes;
    return folder_ + "/" + name;
  }

  std::string folder_;
};

inline absl::StatusOr<Dataset> Load(const DataSpec& spec, const std::vector<std::string>& classes = {}) {
  return LoadDataset(spec, nullptr, classes, nullptr);
}

// What is wrong with the spec or its data; "OK".
inline std::string LoadError(const DataSpec& spec) {
  const absl::StatusOr<Dataset> data = Load(spec);
  return data.ok() ? "OK" : std::string(data.status().message());
}

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file that worker/data/testdata/make.py made.
inline std::string TestData(const std::string& name) { return std::string(DDP_TEST_DATA) + "/" + name; }

}  // namespace ddp

#endif  // DDP_WORKER_DATA_TESTING_H_
