// SHA-256 (OpenSSL) of bytes and of files: what the job, the journal and the checkpoints name files
// by.
#ifndef RONDO_COMMON_SHA256_H_
#define RONDO_COMMON_SHA256_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace rondo {

// A hash in the making. Threads: one. Moves, does not copy.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(const void* data, size_t size);
  void Update(std::string_view bytes) { Update(bytes.data(), bytes.size()); }
  // 64 lower-case hexadecimal digits. Call once; nothing may follow.
  std::string HexDigest();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Lower-case hexadecimal SHA-256 of `bytes`.
std::string Sha256Hex(std::string_view bytes);

// Lower-case hexadecimal SHA-256 of a file's bytes, read in pieces: memory stays small for any
// size. NotFound or Unavailable name the file and the system's reason.
absl::StatusOr<std::string> Sha256HexOfFile(const std::string& path);

// How a job names a file without carrying it.
struct FileIdentity {
  int64_t size_bytes = 0;
  std::string sha256;    // of the bytes or, when `sampled`, of the sample
  bool sampled = false;  // true above `kFullHashBytesMax`
};

inline constexpr int64_t kFullHashBytesMax = int64_t{1} << 30;

// Up to `full_bytes_max` the SHA-256 of all bytes. Above: SHA-256 of "rondo-sample-1", the size as
// 8 bytes little-endian, and 1,024 pieces of 64 KiB; piece i starts at i * (size - 64 KiB) / 1023,
// so the first and the last bytes are in it. Cost: at most 64 MiB of reading for a sampled file.
absl::StatusOr<FileIdentity> IdentifyFile(const std::string& path,
                                          int64_t full_bytes_max = kFullHashBytesMax);

}  // namespace rondo

#endif  // RONDO_COMMON_SHA256_H_
