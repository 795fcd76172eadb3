// Names, shapes and places of a model's tensors in flat memory.
#ifndef RONDO_WORKER_ENGINE_LAYOUT_H_
#define RONDO_WORKER_ENGINE_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

// Elements [offset, offset + size) of a flat vector, row-major.
struct LayoutEntry {
  std::string name;  // the model's own: "fc1.weight"
  std::vector<int64_t> shape;
  int64_t offset = 0;
  int64_t size = 0;
};

// Three flat vectors, each without gaps, in the model's registration order. Parameters and float
// buffers (running means, say) are float32; integer buffers (counters; whole-number and bool
// tensors) are held as int64.
struct Layout {
  std::vector<LayoutEntry> parameters;
  std::vector<LayoutEntry> float_buffers;
  std::vector<LayoutEntry> integer_buffers;

  // Appends an entry after the last one of `entries` (one of the three above).
  static void Append(std::vector<LayoutEntry>* entries, std::string name,
                     std::vector<int64_t> shape);

  int64_t parameter_count() const { return Count(parameters); }
  int64_t float_buffer_count() const { return Count(float_buffers); }
  int64_t integer_buffer_count() const { return Count(integer_buffers); }

  // What the hash is taken of: a line "KIND DTYPE [D0,D1,...] NAME\n" for each tensor; KIND is
  // parameter or buffer, DTYPE float32 or int64; parameters, float buffers, integer buffers.
  std::string CanonicalText() const;
  // Lower-case hexadecimal SHA-256 of CanonicalText: equal for all members that train one model.
  std::string Hash() const;

 private:
  static int64_t Count(const std::vector<LayoutEntry>& entries);
};

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_LAYOUT_H_
