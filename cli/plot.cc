#include "cli/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "cli/format.h"

namespace det::cli {
namespace {

constexpr int kDotsAcross = 2;
constexpr int kDotsDown = 4;
constexpr int kMinColumns = 24;
constexpr int kMinRows = 4;

struct Range {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void Include(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
  // Returns the position of a value in 0..dots-1. Halves are used because the whole range can
  // exceed a double.
  int ToDot(double value, int dots) const {
    const double whole = max / 2 - min / 2;
    const double part = whole > 0 ? (value / 2 - min / 2) / whole : 0.5;
    return static_cast<int>(std::lround(part * (dots - 1)));
  }
};

bool IsVisible(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

// Bits of the Unicode braille patterns by row and column of the dot.
constexpr uint8_t kDot[kDotsDown][kDotsAcross] = {
    {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

// U+2800 and the bits, as UTF-8.
std::string Braille(uint8_t bits) {
  if (bits == 0) return " ";
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 + (bits >> 6)),
          static_cast<char>(0x80 + (bits & 0x3F))};
}

class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns), rows_(rows), cells_(static_cast<size_t>(columns) * rows) {}

  int width() const { return columns_ * kDotsAcross; }
  int height() const { return rows_ * kDotsDown; }

  // `y` counts from the bottom.
  void Set(int x, int y, Paint paint) {
    const int down = height() - 1 - y;
    Cell& cell = cells_[static_cast<size_t>(down / kDotsDown) * columns_ + x / kDotsAcross];
    cell.bits |= kDot[down % kDotsDown][x % kDotsAcross];
    cell.paint = paint;
  }

  void Line(int x0, int y0, int x1, int y1, Paint paint) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      const double part = static_cast<double>(i) / steps;
      Set(static_cast<int>(std::lround(x0 + part * (x1 - x0))),
          static_cast<int>(std::lround(y0 + part * (y1 - y0))), paint);
    }
  }

  // Returns a row of characters; adjacent characters of one color share an escape sequence.
  std::string Row(int row, const Style& style) const {
    std::string out;
    std::string run;
    Paint paint = Paint::kPlain;
    for (int i = 0; i < columns_; ++i) {
      const Cell& cell = cells_[static_cast<size_t>(row) * columns_ + i];
      if (cell.paint != paint) {
        absl::StrAppend(&out, ApplyPaint(run, paint, style));
        run.clear();
        paint = cell.paint;
      }
      absl::StrAppend(&run, Braille(cell.bits));
    }
    return absl::StrCat(out, ApplyPaint(run, paint, style));
  }

 private:
  struct Cell {
    uint8_t bits = 0;
    Paint paint = Paint::kPlain;
  };

  const int columns_;
  const int rows_;
  std::vector<Cell> cells_;
};

void Draw(const Curve& curve, const Range& xs, const Range& ys, Canvas* canvas) {
  bool drawn = false;
  std::pair<int, int> last;
  for (const auto& point : curve.points) {
    if (!IsVisible(point)) {
      drawn = false;
      continue;
    }
    const std::pair<int, int> at = {xs.ToDot(point.first, canvas->width()),
                                    ys.ToDot(point.second, canvas->height())};
    const std::pair<int, int> from = drawn ? last : at;
    canvas->Line(from.first, from.second, at.first, at.second, curve.paint);
    last = at;
    drawn = true;
  }
}

std::string PadLeft(const std::string& text, int width) {
  return absl::StrCat(std::string(std::max(0, width - DisplayWidth(text)), ' '), text);
}

// A number of batches is shown without decimals.
std::string FormatX(double x) {
  return std::floor(x) == x && std::fabs(x) < 1e15 ? absl::StrCat(static_cast<int64_t>(x))
                                                   : FormatNumber(x);
}

}  // namespace

std::vector<std::string> Plot(const std::vector<Curve>& curves, int columns, int rows,
                              const std::string& unit, const Style& style) {
  Range xs, ys;
  for (const Curve& curve : curves) {
    for (const auto& point : curve.points) {
      if (!IsVisible(point)) continue;
      xs.Include(point.first);
      ys.Include(point.second);
    }
  }
  if (xs.min > xs.max || columns < kMinColumns || rows < kMinRows) return {};
  const std::string top = FormatNumber(ys.max);
  const std::string bottom = FormatNumber(ys.min);
  const int labels = std::max(DisplayWidth(top), DisplayWidth(bottom));
  const int height = rows - 2;  // The last two rows are the axis and its labels.
  Canvas canvas(columns - labels - 2, height);
  for (auto curve = curves.rbegin(); curve != curves.rend(); ++curve) {
    Draw(*curve, xs, ys, &canvas);
  }
  std::vector<std::string> lines;
  for (int row = 0; row < height; ++row) {
    const std::string label = row == 0 ? top : row == height - 1 ? bottom : "";
    lines.push_back(
        absl::StrCat(ApplyPaint(absl::StrCat(PadLeft(label, labels), label.empty() ? " │" : " ┤"),
                                Paint::kFaint, style),
                     canvas.Row(row, style)));
  }
  std::string axis;
  for (int i = 0; i < columns - labels - 2; ++i) axis += "─";
  lines.push_back(
      ApplyPaint(absl::StrCat(std::string(labels + 1, ' '), "└", axis), Paint::kFaint, style));
  const std::string first = FormatX(xs.min);
  const std::string last = absl::StrCat(FormatX(xs.max), " ", unit);
  lines.push_back(
      ApplyPaint(absl::StrCat(std::string(labels + 2, ' '), first,
                              PadLeft(last, columns - labels - 2 - DisplayWidth(first))),
                 Paint::kFaint, style));
  return lines;
}

}  // namespace det::cli
