#include "common/job/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rondo {

std::string FormatDiagnostics(std::string_view file, std::vector<Diagnostic> diagnostics) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return std::tie(a.position.line, a.position.column) <
                            std::tie(b.position.line, b.position.column);
                   });
  std::string text;
  const size_t more = diagnostics.size() - std::min(diagnostics.size(), kDiagnosticsShownMax);
  diagnostics.resize(diagnostics.size() - more);
  for (const Diagnostic& d : diagnostics) {
    text += file;
    if (d.position.line > 0) text += fmt::format(":{}:{}", d.position.line, d.position.column);
    text += ": ";
    if (!d.key.empty()) text += d.key + ": ";
    text += d.message + "\n";
  }
  if (more > 0) text += fmt::format("{}: and {} more\n", file, more);
  return text;
}

}  // namespace rondo
