#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "worker/data/npy.h"

namespace rondo {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Reads the header's Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class DictParser {
 public:
  explicit DictParser(std::string_view text) : rest_(text) {}

  absl::StatusOr<NpyHeader> Parse() {
    bool seen[3] = {};
    RETURN_IF_ERROR(Expect('{'));
    while (!Take('}')) {
      ASSIGN_OR_RETURN(const std::string key, String());
      RETURN_IF_ERROR(Expect(':'));
      RETURN_IF_ERROR(Value(key, seen));
      if (!Take(',')) {
        RETURN_IF_ERROR(Expect('}'));
        break;
      }
    }
    SkipBlanks();
    if (!rest_.empty()) return Bad("nothing after the last brace");
    if (!seen[0] || !seen[1] || !seen[2])
      return absl::InvalidArgumentError("its header lacks one of descr, fortran_order and shape");
    return header_;
  }

 private:
  absl::Status Bad(std::string_view expected) const {
    return absl::InvalidArgumentError(
        fmt::format("its header has '{}' where {} is expected", rest_.substr(0, 20), expected));
  }
  void SkipBlanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())))
      rest_.remove_prefix(1);
  }
  bool Take(char c) {
    SkipBlanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeWord(std::string_view word) {
    SkipBlanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  absl::Status Expect(char c) {
    if (Take(c)) return absl::OkStatus();
    return Bad(fmt::format("'{}'", c));
  }
  absl::StatusOr<std::string> String() {
    SkipBlanks();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"'))
      return Bad("a quoted word");
    const size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return Bad("a quoted word");
    const std::string word(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return word;
  }
  absl::Status Value(std::string_view key, bool* seen) {
    if (key == "descr") {
      seen[0] = true;
      SkipBlanks();
      if (!rest_.empty() && rest_.front() == '[')
        return absl::InvalidArgumentError("it holds records, expected float32, int64 or uint8");
      ASSIGN_OR_RETURN(header_.descr, String());
      return absl::OkStatus();
    }
    if (key == "fortran_order") {
      seen[1] = true;
      header_.fortran_order = TakeWord("True");
      if (header_.fortran_order || TakeWord("False")) return absl::OkStatus();
      return Bad("True or False");
    }
    if (key == "shape") {
      seen[2] = true;
      return Shape();
    }
    return absl::InvalidArgumentError(fmt::format("its header has the unknown key '{}'", key));
  }
  absl::Status Shape() {
    header_.shape.clear();
    RETURN_IF_ERROR(Expect('('));
    while (!Take(')')) {
      SkipBlanks();
      int64_t extent = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) return Bad("an extent from 0 up");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      header_.shape.push_back(extent);
      if (!Take(',')) return Expect(')');
    }
    return absl::OkStatus();
  }

  std::string_view rest_;
  NpyHeader header_;
};

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10)
    return absl::InvalidArgumentError("it is not an npy file (it must begin with \\x93NUMPY)");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3)
    return absl::InvalidArgumentError(
        fmt::format("its npy version is {}, versions 1 to 3 are known", major));
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t start = 8 + length_bytes;
  size_t length = 0;
  for (size_t i = 0; i < length_bytes && 8 + i < bytes.size(); ++i)
    length |= size_t{static_cast<unsigned char>(bytes[8 + i])} << (8 * i);
  if (bytes.size() < start || bytes.size() - start < length)
    return absl::InvalidArgumentError(
        fmt::format("it is truncated: its header has {} bytes", length));
  ASSIGN_OR_RETURN(NpyHeader header, DictParser(bytes.substr(start, length)).Parse());
  header.data_start = static_cast<int64_t>(start + length);
  return header;
}

}  // namespace rondo
