#include "master/simulate/table.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace det::simulate {
namespace {

std::string Line(const std::vector<Column>& columns, const std::vector<std::string>& cells,
                 const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string space(widths[i] - base::CountCharacters(cells[i]), ' ');
    absl::StrAppend(&line, i > 0 ? "  " : "", columns[i].right ? space : "", cells[i],
                    columns[i].right ? "" : space);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string Table(const std::vector<Column>& columns,
                  const std::vector<std::vector<std::string>>& rows, bool bold) {
  std::vector<std::string> titles;
  std::vector<size_t> widths;
  for (const Column& column : columns) {
    titles.push_back(column.title);
    widths.push_back(base::CountCharacters(column.title));
  }
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], base::CountCharacters(row[i]));
  }
  std::string text = absl::StrCat(bold ? "\x1b[1m" : "", Line(columns, titles, widths),
                                  bold ? "\x1b[0m" : "", "\n");
  for (const auto& row : rows) absl::StrAppend(&text, Line(columns, row, widths), "\n");
  return text;
}

std::string Span(absl::Duration span) {
  const int64_t seconds = absl::ToInt64Seconds(span + absl::Milliseconds(500));
  if (seconds < 100) return absl::StrCat(seconds, " s");
  const int64_t minutes = (seconds + 30) / 60;
  if (minutes < 100) return absl::StrCat(minutes, " min");
  if (minutes < 48 * 60) return absl::StrFormat("%d h %02d min", minutes / 60, minutes % 60);
  return absl::StrFormat("%d d %02d h", minutes / 1440, minutes % 1440 / 60);
}

std::string Fixed(double value, int digits) { return absl::StrFormat("%.*f", digits, value); }

std::string Percent(double fraction) { return Fixed(fraction * 100, 1) + " %"; }

}  // namespace det::simulate
