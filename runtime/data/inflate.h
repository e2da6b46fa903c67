// Decompression by zlib, never beyond what the reader requests.
#pragma once

#include "runtime/base/error.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sheaf {

/// Unpacks a stream piece by piece. The reader says how many bytes it expects, so a small input can't fill
/// the memory; at the end it checks that there are no more. Errors have no place.
class Inflater {
 public:
  enum Wrapping { raw, zlib, gzip };

  /// `packed` must outlive this.
  Inflater(std::string_view packed, Wrapping wrapping);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills `bytes`. Errors: a damaged stream, one that ends before.
  Result<void> read(std::span<std::byte> bytes);
  /// The next `size` bytes. Also an error: more than this input can unpack to.
  Result<std::string> read(size_t size);
  /// Checks that the stream and the input end here, and that the stream's checksum is right.
  Result<void> finish();

  /// An upper bound of what `packed` bytes unpack to: deflate's best ratio is 1032 to 1.
  static constexpr size_t most(size_t packed) { return packed >= (size_t{1} << 50) ? size_t{1} << 60 : (packed + 64) * 1032; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf
