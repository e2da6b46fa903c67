#include "runtime/data/zip.h"

#include "runtime/data/inflate.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <zlib.h>

namespace sheaf {

namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kDirectoryEnd = 0x06054b50;
constexpr uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr uint64_t kLargestDirectory = 64 << 20;
constexpr uint64_t kElsewhere = 0xFFFFFFFF;  // a 32-bit field whose value is in a 64-bit one

/// A little-endian number of `size` bytes at `at`; the caller has checked the bounds.
uint64_t number(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

Result<std::string> read_range(const InputFile& file, uint64_t offset, uint64_t size) {
  if (offset > file.size() || size > file.size() - offset)
    return Error({file.name(), 0, 0}, "a damaged zip archive: it ends too early");
  std::string bytes(size, '\0');
  SHEAF_TRY(file.read_at(offset, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

/// Replaces fields that say "elsewhere" by those of the Zip64 extra field, in the order that the format gives
/// them.
bool apply_zip64(std::string_view extra, std::initializer_list<uint64_t*> fields) {
  while (extra.size() >= 4) {
    const uint64_t id = number(extra, 0, 2);
    const uint64_t size = number(extra, 2, 2);
    if (size > extra.size() - 4) return false;
    std::string_view data = extra.substr(4, size);
    extra.remove_prefix(4 + size);
    if (id != 1) continue;
    for (uint64_t* field : fields) {
      if (*field != kElsewhere) continue;
      if (data.size() < 8) return false;
      *field = number(data, 0, 8);
      data.remove_prefix(8);
    }
    return true;
  }
  return std::none_of(fields.begin(), fields.end(), [](const uint64_t* field) { return *field == kElsewhere; });
}

}  // namespace

Result<ZipFile> ZipFile::open(const std::string& file) {
  Result<InputFile> input = InputFile::open(file);
  if (!input) return input.error();
  ZipFile zip(*std::move(input));
  SHEAF_TRY(zip.read_directory());
  return zip;
}

Result<void> ZipFile::read_directory() {
  const auto refuse = [&](const char* message) {
    return Error({file_.name(), 0, 0}, std::string("not a zip archive: ") + message);
  };
  // The end record is the last thing but a comment of at most 65535 bytes.
  const uint64_t tail_size = std::min<uint64_t>(file_.size(), 22 + 65535);
  SHEAF_ASSIGN(const auto tail, read_range(file_, file_.size() - tail_size, tail_size));
  std::optional<size_t> end;
  for (size_t at = tail.size(); at-- > 0 && !end;)
    if (tail.size() - at >= 22 && number(tail, at, 4) == kDirectoryEnd && number(tail, at + 20, 2) == tail.size() - at - 22)
      end = at;
  if (!end) return refuse("it has no directory");

  uint64_t count = number(tail, *end + 10, 2);
  uint64_t size = number(tail, *end + 12, 4);
  uint64_t offset = number(tail, *end + 16, 4);
  if (number(tail, *end + 4, 2) != 0 || number(tail, *end + 8, 2) != count) return refuse("it is split into parts");
  if (count == 0xFFFF || size == kElsewhere || offset == kElsewhere) {
    if (*end < 20 || number(tail, *end - 20, 4) != kLocator64) return refuse("its directory is nowhere");
    SHEAF_ASSIGN(const auto record, read_range(file_, number(tail, *end - 12, 8), 56));
    if (number(record, 0, 4) != kDirectoryEnd64) return refuse("its directory is nowhere");
    count = number(record, 32, 8);
    size = number(record, 40, 8);
    offset = number(record, 48, 8);
  }
  if (size > kLargestDirectory || count > size / 46) return refuse("its directory is out of proportion");
  SHEAF_ASSIGN(const auto directory, read_range(file_, offset, size));

  std::string_view rest = directory;
  for (uint64_t i = 0; i < count; ++i) {
    if (rest.size() < 46 || number(rest, 0, 4) != kDirectoryEntry) return refuse("its directory is damaged");
    const uint64_t name_size = number(rest, 28, 2);
    const uint64_t extra_size = number(rest, 30, 2);
    const uint64_t whole = 46 + name_size + extra_size + number(rest, 32, 2);
    if (rest.size() < whole) return refuse("its directory is damaged");
    if ((number(rest, 8, 2) & 1) != 0) return refuse("it is encrypted");
    Entry entry;
    entry.method = static_cast<uint16_t>(number(rest, 10, 2));
    entry.crc = static_cast<uint32_t>(number(rest, 16, 4));
    entry.compressed = number(rest, 20, 4);
    entry.size = number(rest, 24, 4);
    entry.header = number(rest, 42, 4);
    if (!apply_zip64(rest.substr(46 + name_size, extra_size), {&entry.size, &entry.compressed, &entry.header}))
      return refuse("its directory is damaged");
    if (!entries_.emplace(std::string(rest.substr(46, name_size)), entry).second) return refuse("it has a name twice");
    rest.remove_prefix(whole);
  }
  return {};
}

std::vector<std::string> ZipFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

Result<std::string> ZipFile::read(const std::string& name) const {
  const auto refuse = [&](const std::string& message) {
    return Error({file_.name(), 0, 0}, "'" + name.substr(0, 200) + "' " + message);
  };
  const auto found = entries_.find(name);
  if (found == entries_.end()) return refuse("is not in the archive");
  const Entry& entry = found->second;
  if (entry.method != 0 && entry.method != 8)
    return refuse("is compressed by method " + std::to_string(entry.method) + "; stored and deflated can be read");
  if (entry.size > physical_memory() / 4) return refuse("would have " + std::to_string(entry.size) + " bytes");

  SHEAF_ASSIGN(const auto local, read_range(file_, entry.header, 30));
  if (number(local, 0, 4) != kLocalHeader) return refuse("is damaged: it has no header");
  const Result<std::string> packed =
      read_range(file_, entry.header + 30 + number(local, 26, 2) + number(local, 28, 2), entry.compressed);
  if (!packed) return packed.error();
  std::string bytes;
  if (entry.method == 0) {
    if (entry.compressed != entry.size) return refuse("is damaged: two sizes");
    bytes = *packed;
  } else {
    Inflater inflater(*packed, Inflater::raw);
    Result<std::string> unpacked = inflater.read(entry.size);
    if (!unpacked) return refuse("is damaged: " + unpacked.error().message());
    if (auto done = inflater.finish(); !done) return refuse("is damaged: " + done.error().message());
    bytes = *std::move(unpacked);
  }
  const auto crc = crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  if (crc != entry.crc) return refuse("is damaged: its CRC is wrong");
  return bytes;
}

}  // namespace sheaf
