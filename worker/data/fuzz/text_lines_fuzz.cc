// Text files.
#include "worker/data/text_lines.h"

#include <cstdint>
#include <limits>
#include <string>

#include "common/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ddp::InputFile file{std::string(reinterpret_cast<const char*>(data), size), true};
  const auto samples =
      ddp::ReadTextLines("f.txt", file, ddp::kSourceField, std::numeric_limits<int64_t>::max(), nullptr);
  if (!samples.ok()) return 0;
  for (size_t i = 0; i < samples->texts.size(); ++i) {
    const std::string_view text = samples->texts[i];
    if (text.empty() || text.find('\n') != std::string_view::npos || !ddp::IsValidUtf8(text)) __builtin_trap();
  }
  return 0;
}
