#include "common/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_kind.h"
#include "common/status_macros.h"

namespace rondo {
namespace {

constexpr int64_t kPieceBytes = 64 << 10;
constexpr int64_t kPieces = 1024;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

absl::StatusOr<File> OpenForReading(const std::string& path) {
  if (const std::string_view kind = UnusualFileKind(path); !kind.empty()) {
    return absl::InvalidArgumentError(fmt::format("{} is {}, not a file", path, kind));
  }
  File file(std::fopen(path.c_str(), "rbe"));
  if (file != nullptr) return file;
  const std::string message = fmt::format("cannot open {}: {}", path, std::strerror(errno));
  if (errno == ENOENT) return absl::NotFoundError(message);
  return absl::UnavailableError(message);
}

absl::Status ReadFailed(const std::string& path) {
  return absl::UnavailableError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
}

absl::StatusOr<std::string> HashAll(std::FILE* file, const std::string& path) {
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), file)) > 0)
    hash.Update(buffer.data(), got);
  if (std::ferror(file)) return ReadFailed(path);
  return hash.HexDigest();
}

absl::StatusOr<std::string> HashSample(std::FILE* file, const std::string& path, int64_t size) {
  Sha256 hash;
  hash.Update("rondo-sample-1");
  std::array<char, 8> little_endian;
  for (int i = 0; i < 8; ++i)
    little_endian[i] = static_cast<char>(static_cast<uint64_t>(size) >> (8 * i));
  hash.Update(little_endian.data(), little_endian.size());
  const int64_t piece_bytes = size < kPieceBytes ? size : kPieceBytes;
  std::vector<char> piece(static_cast<size_t>(piece_bytes));
  for (int64_t i = 0; i < kPieces; ++i) {
    const auto start =
        static_cast<int64_t>(static_cast<__int128>(size - piece_bytes) * i / (kPieces - 1));
    if (fseeko(file, start, SEEK_SET) != 0) return ReadFailed(path);
    if (std::fread(piece.data(), 1, piece.size(), file) != piece.size()) return ReadFailed(path);
    hash.Update(piece.data(), piece.size());
  }
  return hash.HexDigest();
}

}  // namespace

struct Sha256::Context {
  Context() : evp(EVP_MD_CTX_new()) { EVP_DigestInit_ex(evp, EVP_sha256(), nullptr); }
  ~Context() { EVP_MD_CTX_free(evp); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  EVP_MD_CTX* evp;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(const void* data, size_t size) { EVP_DigestUpdate(context_->evp, data, size); }

std::string Sha256::HexDigest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_->evp, bytes.data(), &size);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.HexDigest();
}

absl::StatusOr<std::string> Sha256HexOfFile(const std::string& path) {
  ASSIGN_OR_RETURN(const File file, OpenForReading(path));
  return HashAll(file.get(), path);
}

absl::StatusOr<FileIdentity> IdentifyFile(const std::string& path, int64_t full_bytes_max) {
  ASSIGN_OR_RETURN(const File file, OpenForReading(path));
  if (fseeko(file.get(), 0, SEEK_END) != 0) return ReadFailed(path);
  FileIdentity identity;
  identity.size_bytes = ftello(file.get());
  if (identity.size_bytes < 0 || fseeko(file.get(), 0, SEEK_SET) != 0) return ReadFailed(path);
  identity.sampled = identity.size_bytes > full_bytes_max;
  if (identity.sampled) {
    ASSIGN_OR_RETURN(identity.sha256, HashSample(file.get(), path, identity.size_bytes));
  } else {
    ASSIGN_OR_RETURN(identity.sha256, HashAll(file.get(), path));
  }
  return identity;
}

}  // namespace rondo
