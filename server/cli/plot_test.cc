#include "server/cli/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

namespace rondo::cli {
namespace {

// Characters, not bytes.
size_t Columns(const std::string& line) {
  size_t columns = 0;
  for (char c : line) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return columns;
}

TEST(PlotTest, DrawsBarsInBlocks) {
  EXPECT_EQ(DrawPlot({.title = "rate", .values = {0, 1, 2, 4}, .first = 0, .last = 3}, 2, false),
            "rate\n"
            "         4 │   █\n"
            "         0 │ ▄██\n"
            "           └────\n"
            "            0  3\n");
}

TEST(PlotTest, DrawsBarsInAscii) {
  EXPECT_EQ(DrawPlot({.title = "rate", .values = {0, 1, 2, 4}, .first = 0, .last = 3}, 2, true),
            "rate\n"
            "         4 |   #\n"
            "         0 | ###\n"
            "           +----\n"
            "            0  3\n");
}

TEST(PlotTest, ALogScaleStartsAtOne) {
  EXPECT_EQ(DrawPlot({.title = "H", .values = {1, 10, 100}, .log_scale = true, .last = 9}, 2, true),
            "H\n"
            "       100 |  #\n"
            "         1 |###\n"
            "           +---\n"
            "            0 9\n");
}

TEST(PlotTest, FitsEightyColumns) {
  Plot plot = {.title = "wide", .first = 0, .last = 999'999'999};
  for (int i = 0; i < kPlotColumns; ++i) plot.values.push_back(std::exp(i * 0.3));
  for (const bool ascii : {false, true}) {
    std::istringstream lines(DrawPlot(plot, 8, ascii));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(Columns(line), 80u) << line;
  }
}

TEST(PlotTest, NothingButZerosIsAnEmptyPlot) {
  EXPECT_EQ(DrawPlot({.title = "0", .values = {0, 0}}, 1, true),
            "0\n         0 |\n           +--\n            00\n");
}

}  // namespace
}  // namespace rondo::cli
