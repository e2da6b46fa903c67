// A fuzz target for each kind of input file (libFuzzer): whatever the bytes, the result is a value or an Error that names a
// place, and no sanitizer complains. SHEAF_FUZZ selects the kind; run_fuzz.py has the seeds.
#include "frontend/model.h"
#include "runtime/base/file.h"
#include "runtime/check/reader.h"
#include "runtime/data/idx.h"
#include "runtime/data/npy.h"
#include "runtime/data/safetensors.h"
#include "runtime/base/sha256.h"
#include "runtime/training/checkpoint.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace sheaf {
namespace {

/// Every message can be shown and names its file.
void check_error(const Error& error, bool with_line) {
  if (error.diagnostics.empty() || error.message().empty() || to_string(error).size() > (1 << 20)) std::abort();
  for (const Diagnostic& diagnostic : error.diagnostics) {
    if (diagnostic.location.file.empty() || (with_line && diagnostic.location.line < 1)) {
      std::fprintf(stderr, "without a place: %s\n", to_string(error).c_str());
      std::abort();
    }
  }
}

template <typename T>
void check_result(const Result<T>& result, bool with_line = false) {
  if (!result) check_error(result.error(), with_line);
}

void model(std::string_view bytes) { check_result(frontend::parse_model("fuzz.json", std::string(bytes)), true); }

/// With a correct hash if it is JSON: otherwise hardly any input would get past the hash.
void plan(std::string_view bytes) {
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(bytes, nullptr, false);
  std::string text(bytes);
  if (document.is_object() && document.contains("sha256")) {
    document.erase("sha256");
    const auto dump = [&] { return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace); };
    document["sha256"] = sha256(dump());
    text = dump();
  }
  check_result(parse_plan("fuzz.plan", text));
}

/// The bytes as a file that is on no disk.
class File {
 public:
  explicit File(std::string_view bytes) : number_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (number_ < 0 || ::write(number_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  ~File() { ::close(number_); }
  File(const File&) = delete;
  std::string name() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

void safetensors(std::string_view bytes) {
  const File file(bytes);
  const auto opened = SafetensorsFile::open(file.name());
  check_result(opened);
  if (!opened) return;
  for (const auto& [name, entry] : opened->entries()) check_result(opened->read(name));
}

void npy(std::string_view bytes) {
  const File file(bytes);
  check_result(load_npy(file.name()));
}

void npz(std::string_view bytes) {
  const File file(bytes);
  for (const char* key : {"x", "labels"}) check_result(load_npz(file.name(), key));
}

void idx(std::string_view bytes) {
  const File file(bytes);
  check_result(load_idx(file.name()));
}

void checkpoint(std::string_view bytes) {
  const File file(bytes);
  const auto folder = Folder::open("/proc/self/fd");
  if (!folder) std::abort();
  const auto opened = CheckpointFile::open(*folder, file.name().substr(std::string("/proc/self/fd/").size()));
  check_result(opened);
  if (!opened) return;
  const Parameter w{"w", DType::float32, {1}, false, {}, Json::object()};
  const Parameter* expected[] = {&w};
  check_result(opened->read(expected));
}

using Target = void (*)(std::string_view);

Target target() {
  static const std::map<std::string, Target> targets = {
      {"model", model}, {"plan", plan}, {"safetensors", safetensors}, {"npy", npy},
      {"npz", npz},     {"idx", idx},   {"checkpoint", checkpoint}};
  const char* kind = std::getenv("SHEAF_FUZZ");
  const auto found = targets.find(kind ? kind : "");
  if (found != targets.end()) return found->second;
  std::fprintf(stderr, "SHEAF_FUZZ names none of the targets\n");
  std::exit(2);
}

}  // namespace
}  // namespace sheaf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const sheaf::Target target = sheaf::target();
  target({reinterpret_cast<const char*>(data), size});
  return 0;
}
