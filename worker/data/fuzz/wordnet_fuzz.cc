// WordNet's data files: the input is data.noun of a folder of its own.
#include "worker/data/wordnet.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "worker/formats/fuzz/memory_file.h"

namespace {

// A folder in which data.noun is the file of the moment.
class Folder {
 public:
  explicit Folder(const ddp::MemoryFile& file) : path_("/tmp/wordnet_fuzz.XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr || symlink(file.path().c_str(), noun().c_str()) != 0) std::abort();
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    unlink(noun().c_str());
    rmdir(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  std::string noun() const { return path_ + "/data.noun"; }
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ddp::MemoryFile file(data, size);
  const Folder folder(file);
  const auto samples = ddp::ReadWordnet(folder.path(), "noun", std::numeric_limits<int64_t>::max(), nullptr);
  if (samples.ok() && samples->texts.size() != samples->labels.size()) __builtin_trap();
  return 0;
}
