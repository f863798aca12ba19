#include "client/text_table.h"

#include <algorithm>

#include "client/columns.h"
#include "common/text.h"

namespace ddp {

std::string TextTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> safe = rows;
  std::vector<int> widths;
  for (auto& row : safe) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = EscapeControls(row[i]);
      widths[i] = std::max(widths[i], Columns(row[i]));
    }
  }
  std::string text;
  for (const auto& row : safe) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(static_cast<size_t>(widths[i] - Columns(row[i]) + 2), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace ddp
