#include "runtime/machine/isa.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <fstream>

namespace sheaf {
namespace {

/// oneDNN's values have a bit for each extension; they are not in order: AVX2 with VNNI is more than AVX-512.
bool uses(dnnl::cpu_isa extension) {
  const auto isa = unsigned(dnnl::get_effective_cpu_isa());
  return (isa & unsigned(extension)) == unsigned(extension);
}

}  // namespace

std::vector<std::string> supported_isa_levels() {
  std::vector<std::string> levels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // __builtin_cpu_supports also asks the operating system (xgetbv) whether the registers are saved.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2")) {
    return levels;
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
    levels.push_back("x86-64-v4");
  }
  levels.push_back("x86-64-v3");
#endif
  return levels;
}

bool has_avx2() { return uses(dnnl::cpu_isa::avx2); }

bool has_avx512() { return uses(dnnl::cpu_isa::avx512_core); }

bool has_bf16() { return uses(dnnl::cpu_isa::avx512_core_bf16); }

bool has_amx() { return uses(dnnl::cpu_isa::avx512_core_amx); }

const char* widest_instructions() {
  if (has_amx()) return "AVX-512 with AMX";
  if (has_bf16()) return "AVX-512 with bf16";
  if (has_avx512()) return "AVX-512";
  return has_avx2() ? "AVX2" : "SSE4.1";
}

std::string library_and_instructions() {
  const dnnl_version_t& version = *dnnl::version();
  return "oneDNN " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch) +
         ", " + widest_instructions();
}

std::string cpu_model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

}  // namespace sheaf
