// The contract between binding and a backend's operations: a step with concrete sizes becomes an Executable, with its preferred
// layouts for its operands.
#pragma once

#include "runtime/device/choices.h"
#include "runtime/plan/plan.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// The layout of a tensor's elements in memory. A null `format` is the plain one: dense, row-major, in the
/// order of the dims. Any other belongs to a backend (a oneDNN memory descriptor), which compares it.
class Format {
 public:
  virtual ~Format() = default;
  virtual bool equals(const Format& other) const = 0;
  virtual std::string name() const = 0;  ///< "nChw16c", "nhwc", …
};

class Kernels;  // a plan's generated kernels, loaded (runtime/device/device.h)

struct TensorSpec {
  DType dtype = DType::float32;
  std::vector<int64_t> dims;
  std::shared_ptr<const Format> format;  ///< null: plain
  size_t bytes = 0;                      ///< of the whole buffer, padding included

  bool plain() const { return format == nullptr; }
};

/// Makes a plain spec; bytes = product of dims × element size.
TensorSpec plain_tensor(DType dtype, std::vector<int64_t> dims);
bool same_format(const TensorSpec& a, const TensorSpec& b);
/// The same format, of the same dtype: what reads one can read the other.
bool same_form(const TensorSpec& a, const TensorSpec& b);
int64_t element_count(const TensorSpec& tensor);

/// A bound operation. Thread-compatible: one run at a time. Never allocates in run().
class Executable {
 public:
  virtual ~Executable() = default;
  /// `buffers`: the step's inputs, then its outputs, in step order. `scratch`: 64-byte aligned, of the requested size. Returns
  /// nothing: what can fail fails in prepare(), unless `Prepared::can_fail` is set.
  virtual void run(void* const* buffers, void* scratch) = 0;
  /// For an operation that checks its data (an index beyond a table's end): why its last run of this phase (RunBegin::phase)
  /// failed, empty if it didn't. A failed run leaves its outputs unspecified, and touches only its own memory.
  virtual std::string failure(int phase) const { return {}; }
  virtual bool failed(int phase) const { return false; }
  /// Whether it tells the two phases apart: a run may be under way while the one before it is asked about. Others have only
  /// a last run, whatever its phase.
  virtual bool reports_by_phase() const { return false; }
  /// Call it before run() of an operation that can fail: whether the run has failed already, as far as this process knows.
  virtual void tell(bool run_failed) {}
  /// Whether a queue that records work may record it too.
  virtual bool recordable() const { return true; }
  /// Whether an asynchronous queue can launch it guarded (runtime/device/device.h).
  virtual bool guardable() const { return false; }
};

/// What a step knows when it is bound.
struct PrepareRequest {
  const Step& step;
  const Plan& plan;
  std::span<const TensorSpec> inputs;   ///< in their current formats
  std::span<const TensorSpec> outputs;  ///< dims and dtype; the operation chooses the formats
  int threads = 1;                      ///< of the lane
  bool fast_numerics = false;           ///< --numerics fast: Winograd, split f32 (CPU), TF32 (CUDA) allowed
  /// Inputs that depend only on weights: they are reordered once, so the operation may request any format.
  std::span<const bool> constant;
  /// For op `kernel`: the loaded objects (null if a binding is only planned: then there is no executable), and the step's
  /// `extents` and `work` (for CPUs) with the symbols' values filled in.
  const Kernels* kernels = nullptr;
  std::span<const int64_t> extents = {};
  int64_t work = 0;
  bool explain = false;                 ///< `Prepared::reason` names the alternatives too, which takes time to find out
  bool deterministic = true;            ///< --deterministic: no engine whose sums depend on the order of threads
  int64_t gpu_work = 0;                 ///< as `work`, for the kernel's form for GPUs
  const Choices* choices = nullptr;     ///< null: the device's cost model chooses among its candidates
  std::span<const float> numbers = {};  ///< for op `reorder` of bytes: what they stand for (Device::prepare_numbers())
};

struct Prepared {
  std::unique_ptr<Executable> executable;
  std::vector<TensorSpec> inputs;   ///< as wanted; if one differs from the request, binding inserts a reorder
  std::vector<TensorSpec> outputs;  ///< as produced; of one that is of another dtype than requested, binding makes that one
  size_t scratch_bytes = 0;
  /// For a device that is only planned for: why scratch_bytes, or the memory kept for the backward pass, differs from a run's,
  /// and what was counted instead. Empty: it doesn't differ.
  std::string uncertain;
  std::string implementation;  ///< for explain: "jit:avx512_core", "generated", …
  std::string reason;          ///< for explain: why that one and not another, in a sentence or two
  /// The candidates that fit, of which `implementation` is one; null: the operation has no list of them.
  std::shared_ptr<const Selection> selection;
  /// {input, output} pairs that may (or, if `must_alias`, must) share one buffer.
  std::vector<std::pair<int, int>> in_place;
  bool can_fail = false;  ///< Executable::failed() is called after each run
};

}  // namespace sheaf
