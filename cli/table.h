// A table of aligned columns without borders. Filled by commands on the main thread. Never reads
// the terminal: the style is passed in.
#ifndef CLI_TABLE_H_
#define CLI_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/terminal.h"

namespace det::cli {

struct Column {
  std::string title;
  bool right = false;   // for numbers
  bool shrink = false;  // shortened with "…" in the middle if the terminal is too narrow
};

struct Cell {
  Cell(absl::string_view text, Paint paint = Paint::kPlain)  // NOLINT: rows are written as lists.
      : text(text), paint(paint) {}
  Cell(const char* text) : text(text) {}             // NOLINT
  Cell(std::string text) : text(std::move(text)) {}  // NOLINT

  // A cell with a different value in CSV: "RUNNING" for "● RUNNING".
  Cell(absl::string_view text, Paint paint, absl::string_view raw)
      : text(text), paint(paint), raw(raw) {}

  std::string text;
  Paint paint = Paint::kPlain;
  std::string raw;  // CSV value; empty: same as text
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES as many cells as columns.
  void AddRow(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  bool empty() const { return rows_.empty(); }
  int size() const { return static_cast<int>(rows_.size()); }

  // Returns the header and the rows, each with a newline. A line that is too long even with
  // shortened columns ends in "…".
  std::string Render(const Style& style) const;

  // Returns the table as CSV (RFC 4180 with "\n" line ends): complete, without colors, with exact
  // values.
  std::string RenderCsv() const;

 private:
  std::vector<int> Widths(const Style& style) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Returns "name   value" lines with padded, faint names.
std::string RenderFields(const std::vector<std::pair<std::string, Cell>>& fields,
                         const Style& style);

}  // namespace det::cli

#endif  // CLI_TABLE_H_
