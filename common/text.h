// Small pure functions on text.
#ifndef DDP_COMMON_TEXT_H_
#define DDP_COMMON_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace ddp {

// Control characters and DEL as \n, \t, \xNN; backslash as \\; everything else (UTF-8) as it is.
std::string EscapeControls(std::string_view text);
// The candidate with the smallest edit distance, if that is at most 3 and less than half of the word; else "".
std::string NearestName(std::string_view word, const std::vector<std::string>& candidates);
bool IsValidUtf8(std::string_view text);

}  // namespace ddp

#endif  // DDP_COMMON_TEXT_H_
