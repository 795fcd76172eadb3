#include "server/cli/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace rondo::cli {
namespace {

constexpr int kEighths = 8;
constexpr std::string_view kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// The bar's height in eighths of a row. A value above 0 shows at least one.
int Height(double value, double top, bool log_scale, int rows) {
  if (value <= 0 || top <= 0) return 0;
  double share = value / top;
  if (log_scale) share = top > 1 ? std::log(std::max(value, 1.0)) / std::log(top) : 1;
  const double eighths = share * rows * kEighths;
  return std::clamp(static_cast<int>(std::lround(eighths)), 1, rows * kEighths);
}

// What of a bar falls into the row that has `below` eighths beneath it.
std::string_view Cell(int height, int below, bool ascii) {
  const int filled = std::clamp(height - below, 0, kEighths);
  if (!ascii) return kBlocks[filled];
  // A bar's lowest cell shows in any case; further ones when they are half full.
  const bool full = filled * 2 >= kEighths || (below == 0 && filled > 0);
  return full ? "#" : " ";
}

}  // namespace

std::string DrawPlot(const Plot& plot, int rows, bool ascii) {
  const double top =
      plot.values.empty() ? 0 : *std::max_element(plot.values.begin(), plot.values.end());
  std::string text = plot.title + "\n";
  for (int row = rows - 1; row >= 0; --row) {
    const std::string_view bottom = row > 0 || rows == 1 ? "" : plot.log_scale ? "1" : "0";
    const std::string label = row == rows - 1 ? fmt::format("{:.4g}", top) : std::string(bottom);
    text += fmt::format("{:>10} {}", label, ascii ? "|" : "│");
    std::string line;
    for (double value : plot.values) {
      line += Cell(Height(value, top, plot.log_scale, rows), row * kEighths, ascii);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += fmt::format("{:>10} {}", "", ascii ? "+" : "└");
  for (size_t i = 0; i < plot.values.size(); ++i) text += ascii ? "-" : "─";
  const auto width = static_cast<int>(plot.values.size());
  const std::string first = fmt::format("{}", plot.first);
  text += fmt::format("\n{:>12}{}{:>{}}\n", "", first, plot.last,
                      std::max(1, width - static_cast<int>(first.size())));
  return text;
}

}  // namespace rondo::cli
