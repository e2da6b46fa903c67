#include "runtime/data/foreign_file.h"

#include "runtime/base/file.h"
#include "runtime/data/zip.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace sheaf {
namespace {

enum class Format { unknown, torch, npy, npz, safetensors, image, parquet, hdf5 };

/// Pickle protocol 2, which torch.save wrote before it wrote zip archives.
constexpr std::string_view kPickle("\x80\x02", 2);
constexpr std::string_view kZip("PK\x03\x04", 4);

Format format_of(const std::string& file, std::string_view first) {
  if (first.starts_with(kPickle)) return Format::torch;
  if (first.starts_with("\x93NUMPY")) return Format::npy;
  if (first.starts_with("\x89PNG") || first.starts_with("\xff\xd8\xff")) return Format::image;
  if (first.starts_with("PAR1")) return Format::parquet;
  if (first.starts_with("\x89HDF")) return Format::hdf5;
  if (first.size() > 8 && first[8] == '{' && first[7] == 0) return Format::safetensors;
  if (!first.starts_with(kZip)) return Format::unknown;
  const auto zip = ZipFile::open(file);
  if (!zip) return Format::unknown;
  const auto names = zip->names();
  const auto has = [&](std::string_view ending) {
    return std::ranges::any_of(names, [&](const std::string& name) { return name.ends_with(ending); });
  };
  return has("data.pkl") ? Format::torch : has(".npy") ? Format::npz : Format::unknown;
}

}  // namespace

Error foreign_file(const std::string& file, const std::string& expected) {
  std::array<char, 16> bytes{};
  std::string_view first;
  if (const auto input = InputFile::open(file)) {
    first = std::string_view(bytes.data(), std::min<uint64_t>(input->size(), bytes.size()));
    if (!input->read_at(0, std::as_writable_bytes(std::span(bytes).first(first.size())))) first = {};
  }
  const auto is = [&](const std::string& what) { return Error({file, 0, 0}, what + ", not " + expected); };
  const std::string readable =
      "sheaf reads .npy, .npz:KEY, .safetensors:KEY, .csv:COLUMNS and IDX files, images:DIR, and text:FILE";
  // The command is there to be pasted into a shell, so a name that a shell would read otherwise stays out of it.
  const bool plain = std::ranges::all_of(
      file, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-' || c == '/'; });
  const std::string name = plain ? file : "FILE";
  switch (format_of(file, first)) {
    case Format::torch:
      return is("a PyTorch file (torch.save)")
          .note(
              "convert it: python3 -c \"import torch, safetensors.torch as s; s.save_file({k: v.clone() for k, v in "
              "torch.load('" +
              name + "', map_location='cpu').items()}, '" + name + ".safetensors')\"");
    case Format::npy: return is("a NumPy array").note("its name must end in .npy to be read as one");
    case Format::npz:
      return is("an archive of NumPy arrays").note("its name must end in .npz, and which array is meant be said: FILE.npz:KEY");
    case Format::safetensors:
      return is("a safetensors file")
          .note("its name must end in .safetensors, and which tensor is meant be said: FILE.safetensors:KEY");
    case Format::image: return is("an image").note("images:DIR takes the pictures of a folder (docs/data.md)");
    case Format::parquet:
    case Format::hdf5:
      return is("a table").note(
          "pandas writes it as one that can be read: pandas.read_parquet('x').to_csv('x.csv', index=False), then "
          "x.csv:COLUMNS; " +
          readable);
    case Format::unknown: break;
  }
  return Error({file, 0, 0}, "not " + expected).note(readable + "; numpy.save('x.npy', array) writes the first");
}

}  // namespace sheaf
