// For tests that hold a README's table of flags beside what a program's --help prints.
#ifndef RONDO_COMMON_FLAG_TABLE_H_
#define RONDO_COMMON_FLAG_TABLE_H_

#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace rondo {

// Of one flag: its long name, such as "--files", and its default as --help has it; empty: none.
struct FlagRow {
  std::string name;
  std::string by_default;
  bool operator==(const FlagRow& other) const {
    return name == other.name && by_default == other.by_default;
  }
};

inline std::ostream& operator<<(std::ostream& out, const FlagRow& row) {
  return out << row.name << " [" << row.by_default << "]";
}

// From the first "--" of `line`: the flag's name.
inline std::string FlagIn(const std::string& line) {
  const size_t begin = line.find("--");
  const size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin);
  return line.substr(begin, end == std::string::npos ? end : end - begin);
}

// Of CLI11's help text, a line "  --name TYPE=default  What it is": two spaces end the left part.
inline std::vector<FlagRow> FlagsOfHelp(const std::string& help) {
  std::vector<FlagRow> rows;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  -", 0) != 0) continue;
    FlagRow row{FlagIn(line), ""};
    const std::string left = line.substr(2, line.find("  ", 2) - 2);
    const size_t equals = left.find('=');
    if (equals != std::string::npos) {
      row.by_default = left.substr(equals + 1, left.find(' ', equals) - equals - 1);
    }
    rows.push_back(row);
  }
  return rows;
}

// Of the rows "| `--name VALUE` | `default` | meaning |" below the heading; a default that is not
// in backquotes alone is none.
inline std::vector<FlagRow> FlagsOfTable(const std::string& path, const std::string& heading) {
  std::vector<FlagRow> rows;
  std::ifstream file(path);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind('#', 0) == 0) inside = line == heading;
    if (!inside || line.rfind("| `-", 0) != 0) continue;
    FlagRow row{FlagIn(line), ""};
    const size_t second = line.find(" | ") + 3;
    const std::string cell = line.substr(second, line.find(" | ", second) - second);
    const bool plain =
        cell.size() > 2 && cell.front() == '`' && cell.find('`', 1) + 1 == cell.size();
    if (plain) row.by_default = cell.substr(1, cell.size() - 2);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace rondo

#endif  // RONDO_COMMON_FLAG_TABLE_H_
