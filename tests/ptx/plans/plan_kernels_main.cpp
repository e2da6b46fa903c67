// ptx_plan_kernels PLAN…: runs each generated kernel of the plans on the emulator in all the ways that the CUDA backend may,
// and compares with the CPU's object. Exits with 1 if one differs.
#include "runtime/check/reader.h"
#include "tests/ptx/plans/plan_kernel.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace sheaf::ptx {
namespace {

constexpr int64_t kRows = 6;
constexpr int64_t kMostElements = 400'000;  ///< of a kernel's buffers: only the beginning of longer ranges runs
constexpr int64_t kMostForRaces = 60'000;
constexpr const char* kNames[] = {"all", "positive", "special"};  // of Numbers

std::vector<GpuRun> ways(const PlanKernel& kernel, bool has_many) {
  std::vector<GpuRun> runs;
  auto add = [&](const std::string& name) -> GpuRun& {
    runs.push_back({});
    runs.back().name = name;
    return runs.back();
  };
  const bool small = kernel.size() <= kMostForRaces;
  add("as it is").options.detect_races = small;
  add("held by its guard").held = true;
  const int64_t items = std::max(1, kernel.kernel->gpu_items), blocks = (kernel.gpu_work + items - 1) / items;
  GpuRun& few = add("on few blocks, the last first, guarded");
  few.most_blocks = static_cast<uint32_t>(std::clamp<int64_t>(blocks / 2, 1, 3));
  few.guarded = few.options.reverse_blocks = true;
  few.options.detect_races = small;
  GpuRun& more = add("on more blocks than it has items for");
  more.more_blocks = 2;
  more.options.reverse_blocks = true;
  for (size_t i = 0; i < kernel.in_place.size(); ++i) {
    GpuRun& in_place = add("in place of input " + std::to_string(kernel.in_place[i].first));
    in_place.in_place = static_cast<int>(i);
    in_place.options.detect_races = small;
  }
  if (has_many) {
    GpuRun& many = add("by _many");
    many.many = true;
    many.most_blocks = 2;
    many.options.detect_races = small;
    GpuRun& more_of_many = add("by _many, on more blocks, guarded");
    more_of_many.many = more_of_many.guarded = true;
    more_of_many.more_blocks = 1;
    GpuRun& held = add("by _many, held by its guard");
    held.many = held.held = true;
  }
  return runs;
}

int check(const std::string& file) {
  auto plan = load_plan(file);
  if (!plan) return std::fprintf(stderr, "%s\n", to_string(plan.error()).c_str()), 1;
  const std::string* text = nullptr;
  for (const auto& [level, bytes] : plan->objects)
    if (level == "ptx") text = &bytes;
  if (!text) return std::fprintf(stderr, "%s: no PTX in this plan\n", file.c_str()), 1;
  auto module = PtxModule::parse(*text, file + ".ptx");
  if (!module) return std::fprintf(stderr, "%s\n", to_string(module.error()).c_str()), 1;
  auto object = CpuKernelObject::load(*plan);
  if (!object) return std::fprintf(stderr, "%s\n", to_string(object.error()).c_str()), 1;
  auto kernels = plan_kernels(*plan, kRows);
  if (!kernels) return std::fprintf(stderr, "%s\n", to_string(kernels.error()).c_str()), 1;
  int failures = 0, launches = 0;
  const bool chatty = std::getenv("SHEAF_PTX_VERBOSE");
  for (auto& [name, kernel] : *kernels) {
    const bool large = kernel.size() > kMostElements;
    kernel.shorten(kMostElements);
    for (Numbers numbers : {Numbers::all, Numbers::positive, Numbers::special}) {
      if (large && numbers != Numbers::all) continue;
      const Buffers given(kernel, 7, numbers);
      Buffers expected = given;
      object->run(kernel, expected);
      for (const GpuRun& run : ways(kernel, module->has(name + "_many"))) {
        const auto start = std::chrono::steady_clock::now();
        const std::string wrong = run_on_gpu(*module, kernel, run, given, expected);
        ++launches;
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (chatty)
          std::printf("%s %s: %lld elements, %.3f s\n", name.c_str(), run.name.c_str(), static_cast<long long>(kernel.size()),
                      seconds);
        if (wrong.empty()) continue;
        std::printf("%s (layer '%s', %s), %s, %s numbers: %s\n", name.c_str(), kernel.layer.c_str(),
                    kernel.kernel->description.c_str(), run.name.c_str(), kNames[static_cast<int>(numbers)], wrong.c_str());
        ++failures;
      }
    }
  }
  std::printf("%s: %zu kernels, %d launches, %d failures\n", file.c_str(), kernels->size(), launches, failures);
  return failures || kernels->empty() ? 1 : 0;
}

}  // namespace
}  // namespace sheaf::ptx

int main(int count, char** files) {
  int status = 0;
  for (int i = 1; i < count; ++i) status |= sheaf::ptx::check(files[i]);
  return status;
}
