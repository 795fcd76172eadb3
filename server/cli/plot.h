// Bars in text, for a terminal of 80 columns.
#ifndef RONDO_SERVER_CLI_PLOT_H_
#define RONDO_SERVER_CLI_PLOT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::cli {

inline constexpr int kPlotColumns = 64;

struct Plot {
  std::string title;
  // One bar each, from the left; finite, >= 0. At most kPlotColumns.
  std::vector<double> values = {};
  // Bars as high as the logarithm, from 1 to the largest value; else from 0.
  bool log_scale = false;
  // The numbers at both ends of the horizontal axis.
  int64_t first = 0;
  int64_t last = 0;
};

// Title, `rows` lines of bars with the scale at their left, and the axis; each line ends with \n
// and has at most 80 columns. In eighths of a block (UTF-8), or with `ascii` in '#'.
std::string DrawPlot(const Plot& plot, int rows, bool ascii);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_PLOT_H_
