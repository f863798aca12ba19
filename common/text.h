// Small pure functions on text.
#ifndef DDP_COMMON_TEXT_H_
#define DDP_COMMON_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddp {

// Control characters (DEL and U+0080 to U+009F too) and bytes that are not UTF-8 as \n, \t, \xNN; backslash as \\;
// everything else as it is.
std::string EscapeControls(std::string_view text);
// The same for text of several lines: newline, tab and backslash stay. So it may be applied to what has been escaped.
std::string EscapeForTerminal(std::string_view text);
// The candidate with the smallest edit distance, if that is at most 3 and less than half of the word; else "".
std::string NearestName(std::string_view word, const std::vector<std::string>& candidates);
bool IsValidUtf8(std::string_view text);
// Index of the first byte that begins no valid UTF-8 sequence; npos: all is valid.
size_t FindInvalidUtf8(std::string_view text);
// The text, or its longest beginning of at most `limit` bytes that ends between two UTF-8 sequences.
std::string_view CutUtf8(std::string_view text, size_t limit);

}  // namespace ddp

#endif  // DDP_COMMON_TEXT_H_
