// Columns that line up.
#ifndef DDP_CLIENT_TEXT_TABLE_H_
#define DDP_CLIENT_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace ddp {

// Rows of equal length, the first one the header; two spaces between columns, no trailing spaces. Control characters in
// cells are escaped.
std::string TextTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace ddp

#endif  // DDP_CLIENT_TEXT_TABLE_H_
