// Kernels compiled and loaded as the runtime does it: from memory, for every level that this CPU has; and their PTX, run by
// an emulator.
#pragma once

#include "codegen/kernels/kernel_module.h"
#include "ir/Scalars.h"
#include "runtime/machine/memory_object.h"
#include "tests/ptx/emulator.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace sheaf::kernels {

namespace scalar = ir::scalar;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

inline Extent batch() { return Extent::symbol("batch"); }

/// Normally distributed around `shift`.
inline std::vector<float> random_values(int64_t count, unsigned seed, float scale = 3, float shift = 0) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(shift, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

/// A dimension for tests: of static size, or "batch" with that value.
struct Size {
  int64_t value;
  bool dynamic = false;
  Extent extent() const { return dynamic ? batch() : Extent(value); }
};

/// Shapes [outer, n, inner] for kernels that work along n.
struct RowCase {
  Size outer, n, inner;
};
inline std::vector<RowCase> row_cases() {
  return {{{4, true}, {10}, {1}},  {{3}, {1000}, {1}},    {{2}, {77, true}, {1}}, {{5, true}, {1}, {1}},
          {{1}, {16}, {1}},        {{2}, {5}, {130}},     {{3, true}, {7}, {9}},  {{2}, {6}, {100, true}},
          {{2}, {33, true}, {64}}, {{0, true}, {4}, {3}}, {{2}, {0, true}, {3}},  {{2}, {3}, {0, true}}};
}

using KernelFunction = void (*)(void* const*, const int64_t*, int64_t, int64_t);

class LoadedKernels {
 public:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  KernelModule module{context};

  /// Compiles what was added; a failure is a failed test.
  void load() {
    auto objects = module.compile();
    ASSERT_TRUE(objects) << to_string(objects.error());
    for (auto& [level, bytes] : *objects) {
      if (level == kPtxObject) {
        auto parsed = ptx::PtxModule::parse(bytes);
        ASSERT_TRUE(parsed) << to_string(parsed.error());
        ptx_.emplace(std::move(*parsed));
        continue;
      }
      if (level == "x86-64-v4" && !__builtin_cpu_supports("x86-64-v4")) continue;
      auto object = MemoryObject::load(bytes);
      ASSERT_TRUE(object) << to_string(object.error());
      objects_.emplace_back(level, std::move(*object));
    }
    ASSERT_FALSE(objects_.empty());
  }

  size_t levels() const { return objects_.size(); }
  const std::string& level(size_t i) const { return objects_[i].first; }
  KernelFunction function(size_t level, const std::string& name) const {
    return reinterpret_cast<KernelFunction>(objects_[level].second.symbol(name));
  }

  /// Runs one use at every level, in `parts` pieces of its work range, with `symbols` for the extents, and as PTX, in as many
  /// blocks. Calls `check` after each.
  void run(const KernelUse& use, std::vector<void*> buffers, const std::map<std::string, int64_t>& symbols, int parts,
           const std::function<void()>& check) {
    auto value_of = [&](const std::string& name) -> const int64_t* {
      auto found = symbols.find(name);
      return found == symbols.end() ? nullptr : &found->second;
    };
    std::vector<int64_t> extents;
    for (const Extent& extent : use.extents) {
      auto value = evaluate(extent, value_of);
      ASSERT_TRUE(value);
      extents.push_back(*value);
    }
    auto work = evaluate(use.work, value_of);
    ASSERT_TRUE(work);
    for (size_t i = 0; i < levels(); ++i) {
      SCOPED_TRACE(use.name + " for " + level(i) + " in " + std::to_string(parts) + " parts");
      KernelFunction kernel = function(i, use.name);
      ASSERT_NE(kernel, nullptr);
      for (int part = parts; part-- > 0;)  // backwards: no part may rely on one before it
        kernel(buffers.data(), extents.data(), *work * part / parts, *work * (part + 1) / parts);
      check();
    }
    auto gpu_work = evaluate(use.gpu_work, value_of);
    ASSERT_TRUE(gpu_work);
    SCOPED_TRACE(use.name + " as PTX by " + std::to_string(parts) + " blocks");
    launch(use, buffers, extents, *gpu_work, parts);
    check();
  }

  const Kernel& kernel(const std::string& name) const {
    return *std::find_if(module.kernels().begin(), module.kernels().end(), [&](const Kernel& k) { return k.name == name; });
  }
  const ptx::PtxModule& ptx() const { return *ptx_; }

  /// All of a kernel's work on a GPU by at most `most` blocks. The last one runs first: no block may rely on one before it.
  void launch(const KernelUse& use, const std::vector<void*>& buffers, const std::vector<int64_t>& extents, int64_t work,
              int64_t most, const int32_t* guard = nullptr) {
    const Kernel& launched = kernel(use.name);
    const int64_t blocks = std::min(most, (work + launched.gpu_items - 1) / launched.gpu_items);
    if (blocks == 0) return;
    std::vector<int64_t> values;
    for (void* buffer : buffers) values.push_back(reinterpret_cast<int64_t>(buffer));
    values.insert(values.end(), extents.begin(), extents.end());
    values.push_back(work);
    values.push_back(reinterpret_cast<int64_t>(guard));
    std::vector<const void*> arguments;
    for (const int64_t& value : values) arguments.push_back(&value);
    ptx::HostMemory memory;
    auto done =
        ptx_->launch(use.name, {{static_cast<uint32_t>(blocks), 1, 1}, {static_cast<uint32_t>(launched.gpu_block), 1, 1}},
                     arguments.data(), memory, {.detect_races = true, .reverse_blocks = true});
    ASSERT_TRUE(done) << to_string(done.error());
  }

 private:
  std::optional<ptx::PtxModule> ptx_;
  std::vector<std::pair<std::string, MemoryObject>> objects_;
};

}  // namespace sheaf::kernels
