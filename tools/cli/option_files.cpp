#include "tools/cli/option_files.h"

#include "runtime/base/file_place.h"
#include "runtime/data/source.h"

namespace sheaf {
namespace {

struct NamedFile {
  const OptionInfo* declared;
  std::string name;
  FilePlace place;
  bool written() const { return declared->file == FileUse::output || declared->file == FileUse::folder; }
};

std::string called(const OptionInfo& declared) {
  return (declared.name.starts_with('-') ? "option '" + declared.name + "'" : "argument " + declared.name);
}

/// The file that an option's value names; empty if it isn't a file, such as "x=random:30".
std::string file_in(const OptionInfo& declared, const std::string& value) {
  if (declared.file != FileUse::source) return value;
  const size_t equals = value.find('=');  // without one, the value is rejected when sources are read
  return equals == std::string::npos ? "" : file_of_source(value.substr(equals + 1));
}

Result<void> compare(const NamedFile& a, const NamedFile& b) {
  if (a.place != b.place || (!a.written() && !b.written())) return {};
  const NamedFile& output = a.written() ? a : b;
  const NamedFile& other = a.written() ? b : a;
  Error error(called(*output.declared) + " writes '" + output.name + "', which " + called(*other.declared) +
              (other.written() ? " writes too" : " reads") +
              (other.name == output.name ? "" : " as '" + other.name + "', the same file"));
  return error.note(other.written() ? "give each output a file of its own"
                                    : "give another name: the file's contents would be lost");
}

}  // namespace

Result<void> check_files(std::span<const OptionInfo> positionals, std::span<const OptionInfo> options, const Options& given) {
  std::vector<NamedFile> files;
  for (const auto& list : {positionals, options}) {
    for (const OptionInfo& declared : list) {
      if (declared.file == FileUse::none) continue;
      for (const std::string& value : given.values(declared.name)) {
        if (value.empty()) return Error(called(declared) + " needs a name; the one given is empty");
        const std::string name = file_in(declared, value);
        if (auto place = name.empty() ? std::nullopt : place_of(name)) files.push_back({&declared, name, std::move(*place)});
      }
    }
  }
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      SHEAF_TRY(compare(files[i], files[j]));
    }
  }
  return {};
}

}  // namespace sheaf
