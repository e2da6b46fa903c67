#include "runtime/cpu/ops/choice.h"

#include <algorithm>

namespace sheaf {
namespace {

/// The widest instructions that oneDNN uses on this CPU.
const char* instruction_set() {
  using dnnl::cpu_isa;
  // Each value has a bit for each extension that it includes.
  const auto has = [isa = unsigned(dnnl::get_effective_cpu_isa())](cpu_isa extension) {
    return (isa & unsigned(extension)) == unsigned(extension);
  };
  if (has(cpu_isa::avx512_core_amx)) return "AVX-512 with AMX";
  if (has(cpu_isa::avx512_core_bf16)) return "AVX-512 with bf16";
  if (has(cpu_isa::avx512_core)) return "AVX-512";
  return has(cpu_isa::avx2) ? "AVX2" : "SSE4.1";
}

}  // namespace

std::string library_reason(std::string why, const std::vector<std::string>* passed_over) {
  std::string reason = std::move(why);
  if (!reason.empty()) reason += "; ";
  reason += std::string("oneDNN's first choice for these shapes and formats on a CPU with ") + instruction_set();
  if (!passed_over) return reason;
  std::vector<std::string> names;
  for (const std::string& name : *passed_over)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  if (names.empty()) return reason + "; it has no other for them";
  reason += "; passed over, in its order of preference: ";
  for (size_t i = 0; i < names.size(); ++i) reason += (i ? ", " : "") + names[i];
  return reason;
}

void take_loop(Prepared& prepared, std::string why) {
  prepared.implementation = "loop";
  prepared.reason = std::move(why);
}

}  // namespace sheaf
