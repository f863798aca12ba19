// Which files can be data: by the end of their names. What is inside: docs/data.md.
#ifndef DDP_COMMON_DATA_FILES_H_
#define DDP_COMMON_DATA_FILES_H_

#include <array>
#include <string>
#include <string_view>

namespace ddp {

inline constexpr std::array<std::string_view, 13> kDataFileEndings = {
    ".csv",   ".tsv",      ".jsonl", ".txt", ".idx",         ".idx.gz", "-ubyte",
    ".ubyte", "-ubyte.gz", ".npy",   ".npz", ".safetensors", ".bin"};

inline bool IsDataFile(std::string_view path) {
  for (const std::string_view ending : kDataFileEndings) {
    if (path.size() > ending.size() && path.ends_with(ending)) return true;
  }
  return false;
}

// ".csv, .tsv, ...", for error messages.
inline std::string DataFileEndings() {
  std::string text;
  for (const std::string_view ending : kDataFileEndings) {
    if (!text.empty()) text += ", ";
    text += ending;
  }
  return text;
}

}  // namespace ddp

#endif  // DDP_COMMON_DATA_FILES_H_
