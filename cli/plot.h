// Curves as text: braille dots, two across and four down in each character.
// Called by `experiment watch`. Does no I/O.
#ifndef CLI_PLOT_H_
#define CLI_PLOT_H_

#include <string>
#include <utility>
#include <vector>

#include "cli/terminal.h"

namespace det::cli {

struct Curve {
  Paint paint = Paint::kPlain;
  std::vector<std::pair<double, double>>
      points;  // (x, y), sorted by x; points that are not finite are gaps
};

// Draws the curves in `columns` x `rows` characters, including the labels of both axes; the first
// curve is drawn on top. `unit` is the unit of x ("batches"). Returns one string per row; empty if
// there are no points or not enough space.
std::vector<std::string> Plot(const std::vector<Curve>& curves, int columns, int rows,
                              const std::string& unit, const Style& style);

}  // namespace det::cli

#endif  // CLI_PLOT_H_
