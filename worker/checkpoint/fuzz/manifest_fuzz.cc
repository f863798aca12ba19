// Bytes as a manifest.json (and state.json, and best.json): never a crash, and nothing outside of the folder is
// touched.
#include <stdlib.h>

#include <fstream>
#include <string>

#include "common/files.h"
#include "worker/checkpoint/describe.h"
#include "worker/checkpoint/folder.h"

namespace {

// One checkpoint for the whole run.
class Root {
 public:
  Root() {
    if (mkdtemp(path_.data()) == nullptr || !ddp::MakeFolders(path_ + "/step-00000001").ok()) __builtin_trap();
    std::ofstream(path_ + "/step-00000001/a") << "hello";
  }
  ~Root() { ddp::RemoveTree(path_).IgnoreError(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/manifest_fuzz.XXXXXX";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Root root;
  const std::string folder = root.path() + "/step-00000001";
  for (const std::string& path : {folder + "/manifest.json", folder + "/state.json", root.path() + "/best.json"}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(reinterpret_cast<const char*>(data), size);
  }
  for (const ddp::Damage& damage : ddp::FindDamage(folder)) {
    if (damage.path.rfind(folder + "/", 0) != 0) __builtin_trap();
  }
  ddp::DescribeCheckpoints(root.path());
  return 0;
}
