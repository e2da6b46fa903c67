#include "tests/unit/runtime/data/tensor_files.h"

#include <zlib.h>

namespace sheaf::data_tests {

namespace {

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string deflate_all(const std::string& content, int window_bits) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string npy(const std::string& descr, bool fortran_order, const std::string& shape, const std::string& data) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") + ", 'shape': " + shape + ", }";
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + little(header.size(), 2) + header + data;
}

std::string zip(const std::string& name, const std::string& content, bool deflated) {
  const std::string packed = deflated ? deflate_all(content, -MAX_WBITS) : content;
  const uint64_t crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  // Version needed, flags, method, time, date, CRC, sizes, length of the name, of the extra field.
  const std::string description = little(20, 2) + little(0, 2) + little(deflated ? 8 : 0, 2) + little(0, 4) + little(crc, 4) +
                                  little(packed.size(), 4) + little(content.size(), 4) + little(name.size(), 2) + little(0, 2);
  const std::string local = "PK\x03\x04" + description + name + packed;
  const std::string directory = "PK\x01\x02" + little(20, 2) + description + std::string(14, '\0') + name;
  return local + directory + "PK\x05\x06" + little(0, 4) + little(1, 2) + little(1, 2) + little(directory.size(), 4) +
         little(local.size(), 4) + little(0, 2);
}

std::string gzip(const std::string& content) { return deflate_all(content, 16 + MAX_WBITS); }

}  // namespace sheaf::data_tests
