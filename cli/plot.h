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
      points;  // x, y; by x. Points that are not finite are gaps.
};

// The curves in `columns` x `rows` characters, labels of both axes included; the first lies on top.
// `unit` is that of x ("batches"). One string per row; empty where there is no point to show, or no
// room for it.
std::vector<std::string> Plot(const std::vector<Curve>& curves, int columns, int rows,
                              const std::string& unit, const Style& style);

}  // namespace det::cli

#endif  // CLI_PLOT_H_
