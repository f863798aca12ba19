// Tokenizers out of a checkpoint.
#include "worker/data/tokenizer.h"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tokenizer = ddp::Tokenizer::FromJson(std::string(reinterpret_cast<const char*>(data), size));
  if (!tokenizer.ok()) return 0;
  std::vector<int32_t> ids;
  tokenizer->Encode("The quick brown f\xC3\xB6x", 8, &ids);
  for (const int32_t id : ids) {
    if (id != ddp::kUnknownToken && id >= tokenizer->vocab_size()) __builtin_trap();
  }
  return 0;
}
