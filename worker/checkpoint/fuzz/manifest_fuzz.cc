// Bytes as a manifest.json (and state.json, and best.json): never a crash, and nothing outside of the folder is
// touched.
#include <stdlib.h>

#include <fstream>
#include <string>

#include "common/files.h"
#include "worker/checkpoint/describe.h"
#include "worker/checkpoint/folder.h"

namespace {

// One for the whole run; a fuzzer ends by being killed, so nobody removes it.
const std::string& Root() {
  static const std::string root = [] {
    std::string name = "/tmp/manifest_fuzz.XXXXXX";
    if (mkdtemp(name.data()) == nullptr || !ddp::MakeFolders(name + "/step-00000001").ok()) __builtin_trap();
    std::ofstream(name + "/step-00000001/a") << "hello";
    return name;
  }();
  return root;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string folder = Root() + "/step-00000001";
  for (const std::string& path : {folder + "/manifest.json", folder + "/state.json", Root() + "/best.json"}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(reinterpret_cast<const char*>(data), size);
  }
  for (const ddp::Damage& damage : ddp::FindDamage(folder)) {
    if (damage.path.rfind(folder + "/", 0) != 0) __builtin_trap();
  }
  ddp::DescribeCheckpoints(Root());
  return 0;
}
