// The generated kernels of a plan, each with sizes of one of its steps, on the CPU and on the emulator.
#pragma once

#include "runtime/machine/memory_object.h"
#include "runtime/plan/plan.h"
#include "tests/ptx/emulator.h"

#include <map>

namespace sheaf::ptx {

/// A step of op `kernel` with its sizes known.
struct PlanKernel {
  const Kernel* kernel = nullptr;
  std::string layer;
  std::vector<DType> dtypes;  ///< of the buffers: inputs, then outputs
  std::vector<int64_t> elements;
  size_t inputs = 0;
  std::vector<std::pair<int, int>> in_place;  ///< [input, output]
  int status = -1;                            ///< buffer: of a table lookup
  std::vector<int64_t> extents;
  int64_t work = 0, gpu_work = 0;
  int64_t size() const;  ///< elements of all buffers
  /// Shortens a range that means the same on both and takes too long to its beginning: about `elements` of the buffers.
  void shorten(int64_t elements);
};

/// For each kernel of the plan the smallest step that has something to do, on the second of two replicas of a run of `rows`
/// rows.
Result<std::map<std::string, PlanKernel>> plan_kernels(const Plan& plan, int64_t rows);

/// The values of float inputs: around 0, positive, or around 0 with some infinite or NaN.
enum class Numbers { all, positive, special };

/// Buffers of a kernel, each of exactly its size.
class Buffers {
 public:
  /// Random inputs: floats, small integers. Outputs: recognisable bytes.
  Buffers(const PlanKernel& kernel, unsigned seed, Numbers numbers);
  void* data(size_t i) { return blocks_[i].data(); }
  const void* data(size_t i) const { return blocks_[i].data(); }
  size_t bytes(size_t i) const { return blocks_[i].size(); }
  double value(size_t i, int64_t element) const;

 private:
  std::vector<DType> dtypes_;
  std::vector<std::vector<std::byte>> blocks_;
};

/// Runs it with the plan's object for this CPU.
class CpuKernelObject {
 public:
  static Result<CpuKernelObject> load(const Plan& plan);
  void run(const PlanKernel& kernel, Buffers& buffers) const;

 private:
  explicit CpuKernelObject(MemoryObject object) : object_(std::move(object)) {}
  MemoryObject object_;
};

/// How the emulator shall run it.
struct GpuRun {
  std::string name;            ///< for messages
  uint32_t most_blocks = ~0u;  ///< the grid's limit
  uint32_t more_blocks = 0;    ///< more than it has items for
  bool guarded = false;        ///< with a guard that is 0
  bool held = false;           ///< with a guard that isn't: nothing may happen
  bool many = false;           ///< by K_many, as the second of two rows
  int in_place = -1;           ///< this pair shares a buffer
  LaunchOptions options;
};
/// What is wrong; empty if its result from `given` is the CPU's: `expected`.
std::string run_on_gpu(const PtxModule& module, const PlanKernel& kernel, const GpuRun& run, const Buffers& given,
                       const Buffers& expected);

}  // namespace sheaf::ptx
