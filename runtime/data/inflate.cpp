#include "runtime/data/inflate.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

namespace sheaf {

struct Inflater::State {
  z_stream stream = {};
  std::string_view rest;  ///< input that zlib hasn't been given yet
  size_t packed = 0;
  Wrapping wrapping = raw;
  bool ready = false;
  bool ended = false;

  /// Hands zlib more input: its counters have 32 bits, files may be larger.
  void feed() {
    if (stream.avail_in > 0 || rest.empty()) return;
    const size_t piece = std::min<size_t>(rest.size(), 1 << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    stream.avail_in = static_cast<uInt>(piece);
    rest.remove_prefix(piece);
  }
};

Inflater::Inflater(std::string_view packed, Wrapping wrapping) : state_(std::make_unique<State>()) {
  state_->rest = packed;
  state_->packed = packed.size();
  state_->wrapping = wrapping;
  state_->ready = inflateInit2(&state_->stream, wrapping == raw    ? -MAX_WBITS
                                                : wrapping == zlib ? MAX_WBITS
                                                                   : 16 + MAX_WBITS) == Z_OK;
}

Inflater::~Inflater() {
  if (state_->ready) inflateEnd(&state_->stream);
}

Result<void> Inflater::read(std::span<std::byte> bytes) {
  z_stream& stream = state_->stream;
  if (!state_->ready) return Error("zlib has no memory");
  while (!bytes.empty()) {
    if (state_->ended) {
      // gzip files may consist of several members, one after another.
      state_->feed();
      if (state_->wrapping != gzip || stream.avail_in == 0) return Error("the compressed data ends too early");
      if (inflateReset(&stream) != Z_OK) return Error("zlib has no memory");
      state_->ended = false;
    }
    state_->feed();
    const size_t piece = std::min<size_t>(bytes.size(), 1 << 30);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = static_cast<uInt>(piece);
    const int status = inflate(&stream, Z_NO_FLUSH);
    const size_t made = piece - stream.avail_out;
    bytes = bytes.subspan(made);
    if (status == Z_STREAM_END) state_->ended = true;
    else if (status == Z_BUF_ERROR && stream.avail_in == 0 && state_->rest.empty())
      return Error("the compressed data ends too early");
    else if (status != Z_OK) return Error("the compressed data is damaged");
  }
  return {};
}

Result<std::string> Inflater::read(size_t size) {
  if (size > most(state_->packed)) return Error("the compressed data ends too early");
  std::string bytes;
  try {
    bytes.resize(size);
  } catch (const std::exception&) {
    return Error("there is not enough memory for " + std::to_string(size) + " bytes");
  }
  SHEAF_TRY(read(std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

Result<void> Inflater::finish() {
  z_stream& stream = state_->stream;
  if (!state_->ready) return Error("zlib has no memory");
  while (!state_->ended) {
    state_->feed();
    Bytef excess;
    stream.next_out = &excess;
    stream.avail_out = 1;
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (stream.avail_out == 0) return Error("the compressed data goes on beyond its expected end");
    if (status == Z_STREAM_END) state_->ended = true;
    else if (status == Z_BUF_ERROR && stream.avail_in == 0 && state_->rest.empty())
      return Error("the compressed data ends too early");
    else if (status != Z_OK) return Error("the compressed data is damaged");
  }
  if (stream.avail_in > 0 || !state_->rest.empty()) return Error("something stands behind the compressed data");
  return {};
}

}  // namespace sheaf
