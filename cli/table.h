// Aligned columns of text, without boxes.
// Filled by commands, on the main thread. Never reads the terminal: it is told the style.
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
  bool right = false;   // Numbers.
  bool shrink = false;  // Gives way, with "…" in the middle, when the terminal is too narrow.
};

struct Cell {
  Cell(absl::string_view text, Paint paint = Paint::kPlain)  // NOLINT: rows are written as lists.
      : text(text), paint(paint) {}
  Cell(const char* text) : text(text) {}             // NOLINT
  Cell(std::string text) : text(std::move(text)) {}  // NOLINT

  // With what stands for it in CSV, where that is not the text: "RUNNING" of "● RUNNING".
  Cell(absl::string_view text, Paint paint, absl::string_view raw)
      : text(text), paint(paint), raw(raw) {}

  std::string text;
  Paint paint = Paint::kPlain;
  std::string raw;  // Empty: the text.
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES as many cells as columns.
  void AddRow(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  bool empty() const { return rows_.empty(); }
  int size() const { return static_cast<int>(rows_.size()); }

  // Header and rows, each with a newline. A line that is too long for the terminal, however much
  // its columns give way, ends in "…".
  std::string Render(const Style& style) const;

  // The same as CSV (RFC 4180, but lines end with a newline alone): whole, unpainted, exact.
  std::string RenderCsv() const;

 private:
  std::vector<int> Widths(const Style& style) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "name   value" lines, names padded to one width and faint.
std::string RenderFields(const std::vector<std::pair<std::string, Cell>>& fields,
                         const Style& style);

}  // namespace det::cli

#endif  // CLI_TABLE_H_
