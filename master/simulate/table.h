// Tables with aligned columns, in the format of det. PURE.
#ifndef MASTER_SIMULATE_TABLE_H_
#define MASTER_SIMULATE_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace det::simulate {

struct Column {
  std::string title;
  bool right = false;  // numbers
};

// Formats the header and the rows, each with a newline; `bold` makes the header bold, for a
// terminal. REQUIRES one cell per column.
std::string Table(const std::vector<Column>& columns,
                  const std::vector<std::vector<std::string>>& rows, bool bold);

// "0 s", "45 s", "12 min", "3 h 05 min", "2 d 04 h".
std::string Span(absl::Duration span);
std::string Fixed(double value, int digits);  // "0.974"
std::string Percent(double fraction);         // "97.4 %"

}  // namespace det::simulate

#endif  // MASTER_SIMULATE_TABLE_H_
