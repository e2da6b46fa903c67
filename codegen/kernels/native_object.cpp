#include "codegen/kernels/native_object.h"

#include "codegen/kernels/kept_code.h"

#include <system_error>
#include <thread>

namespace sheaf::kernels {
namespace {

struct Level {
  const char* name;
  const char* vector_width;
};
constexpr Level levels[] = {{"x86-64-v3", "256"}, {"x86-64-v4", "512"}};  // v4 would default to 256

Result<std::string> compile_level(llvm::MemoryBufferRef bitcode, const Level& level) {
  return code_of(bitcode, {"x86_64-unknown-linux-gnu", level.name, "", level.vector_width, llvm::CodeGenFileType::ObjectFile});
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> compile_native(mlir::ModuleOp module) {
  SHEAF_ASSIGN(auto bitcode, bitcode_of(module));
  llvm::MemoryBufferRef buffer(bitcode, "kernels");
  Result<std::string> first = std::string();
  std::thread other;
  try {
    other = std::thread([&] { first = compile_level(buffer, levels[0]); });
  } catch (const std::system_error&) {  // no thread available: one after the other
    first = compile_level(buffer, levels[0]);
  }
  Result<std::string> second = compile_level(buffer, levels[1]);
  if (other.joinable()) other.join();
  // Linked here and not in the thread: lld changes its thread's signal stack, and sanitizers want it back when the thread ends.
  std::vector<std::pair<std::string, std::string>> objects;
  for (auto* object : {&first, &second}) {
    if (!*object) return object->error();
    SHEAF_ASSIGN(auto linked, link_shared_object(**object));
    objects.emplace_back(levels[objects.size()].name, std::move(linked));
  }
  return objects;
}

}  // namespace sheaf::kernels
