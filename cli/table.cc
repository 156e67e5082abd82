#include "cli/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace det::cli {
namespace {

constexpr int kGap = 2;
constexpr int kMinShrunkWidth = 8;

std::string PadCell(const Cell& cell, int width, bool right, bool last, const Style& style) {
  const std::string text = ShortenMiddle(RemoveControlCharacters(cell.text), width);
  const std::string fill(std::max(0, width - DisplayWidth(text)), ' ');
  const std::string painted = ApplyPaint(text, cell.paint, style);
  if (right) return fill + painted;
  return last ? painted : painted + fill;
}

// Returns a CSV field, quoted if necessary. "-" means empty only in a table.
std::string CsvField(absl::string_view text) {
  if (text == "-") return "";
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::vector<int> Table::Widths(const Style& style) const {
  std::vector<int> widths;
  int total = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    int width = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[i].text));
    widths.push_back(width);
    total += width + (i > 0 ? kGap : 0);
  }
  while (style.width > 0 && total > style.width) {
    int widest = -1;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].shrink || widths[i] <= kMinShrunkWidth) continue;
      if (widest < 0 || widths[i] > widths[widest]) widest = static_cast<int>(i);
    }
    if (widest < 0) break;
    --widths[widest];
    --total;
  }
  return widths;
}

std::string Table::Render(const Style& style) const {
  const std::vector<int> widths = Widths(style);
  std::string out;
  const auto append = [&](const std::vector<Cell>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      absl::StrAppend(&line, i > 0 ? std::string(kGap, ' ') : "",
                      PadCell(row[i], widths[i], columns_[i].right, last, style));
    }
    const size_t end = line.find_last_not_of(' ');  // Empty cells at the end leave spaces.
    line.resize(end == line.npos ? 0 : end + 1);
    absl::StrAppend(&out, style.width > 0 ? Truncate(line, style.width) : line, "\n");
  };
  std::vector<Cell> header;
  for (const Column& column : columns_) header.emplace_back(column.title, Paint::kBold);
  append(header);
  for (const auto& row : rows_) append(row);
  return out;
}

std::string Table::RenderCsv() const {
  std::string out;
  for (size_t i = 0; i < columns_.size(); ++i) {
    absl::StrAppend(&out, i > 0 ? "," : "", CsvField(columns_[i].title));
  }
  absl::StrAppend(&out, "\n");
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&out, i > 0 ? "," : "",
                      CsvField(row[i].raw.empty() ? row[i].text : row[i].raw));
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

std::string RenderFields(const std::vector<std::pair<std::string, Cell>>& fields,
                         const Style& style) {
  int width = 0;
  for (const auto& field : fields) width = std::max(width, DisplayWidth(field.first));
  std::string out;
  for (const auto& [name, cell] : fields) {
    const std::string fill(width - DisplayWidth(name) + kGap, ' ');
    // Further lines of a value are indented below its first line.
    const std::string indent = absl::StrCat("\n", std::string(width + kGap, ' '));
    const std::string text =
        cell.text.empty() ? "-" : absl::StrReplaceAll(cell.text, {{"\n", indent}});
    absl::StrAppend(&out, ApplyPaint(name, Paint::kFaint, style), fill,
                    ApplyPaint(text, cell.paint, style), "\n");
  }
  return out;
}

}  // namespace det::cli
