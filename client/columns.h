// How wide text is on a terminal.
#ifndef DDP_CLIENT_COLUMNS_H_
#define DDP_CLIENT_COLUMNS_H_

#include <string_view>

namespace ddp {

// Of text without control characters: wide characters take two columns, combining ones none.
int Columns(std::string_view text);
// The longest beginning of at most `width` columns; it never ends inside a character.
std::string_view CutColumns(std::string_view text, int width);

}  // namespace ddp

#endif  // DDP_CLIENT_COLUMNS_H_
