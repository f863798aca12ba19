// Files of tokens: the first byte chooses type and window.
#include <cstdint>

#include "worker/data/token_windows.h"
#include "worker/formats/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ddp::MemoryFile file(data + 1, size - 1);
  ddp::DataSpec spec;
  spec.source = file.path();
  spec.token_type = (data[0] & 1) != 0 ? "uint32" : "";
  spec.max_tokens = 1 + (data[0] >> 1);
  constexpr int64_t kVocabulary = 50257;
  const auto tokens = ddp::OpenTokenWindows(spec, kVocabulary);
  if (!tokens.ok()) return 0;
  std::vector<int32_t> window(static_cast<size_t>(spec.max_tokens) + 1);
  for (int64_t i = 0; i < tokens->train->size(); ++i) {
    if (!tokens->train->Read(i, window).ok()) continue;
    for (const int32_t token : window) {
      if (token < 0 || token >= kVocabulary) __builtin_trap();
    }
  }
  return 0;
}
