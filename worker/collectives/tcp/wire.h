// Fixed-width little-endian integers in a byte buffer.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_WIRE_H_
#define RONDO_WORKER_COLLECTIVES_TCP_WIRE_H_

#include <bit>
#include <cstddef>
#include <cstring>

namespace rondo {

static_assert(std::endian::native == std::endian::little,
              "payloads travel in the machine's own order: all workers must be little-endian");

// Walks over a buffer that the caller has sized.
class WireWriter {
 public:
  explicit WireWriter(std::byte* at) : at_(at) {}
  template <typename T>
  void Put(const T& value) {
    std::memcpy(at_, &value, sizeof(T));
    at_ += sizeof(T);
  }

 private:
  std::byte* at_;
};

class WireReader {
 public:
  explicit WireReader(const std::byte* at) : at_(at) {}
  template <typename T>
  T Take() {
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  // The next `count` bytes, which stay where they are.
  const std::byte* Skip(size_t count) {
    const std::byte* here = at_;
    at_ += count;
    return here;
  }

 private:
  const std::byte* at_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_WIRE_H_
