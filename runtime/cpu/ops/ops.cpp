#include "runtime/cpu/ops/ops.h"

#include "runtime/base/exception.h"
#include "runtime/cpu/ops/keep_nan.h"
#include "runtime/cpu/ops/prepare.h"
#include "runtime/machine/isa.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"
#include "runtime/steps/empty_step.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace sheaf {
namespace {

using Prepare = Prepared (*)(const Operation&);

struct Entry {
  Op op;
  Prepare prepare;
};

#define SHEAF_ENTRY(name) {Op::name, prepare_##name},
constexpr Entry operations[] = {SHEAF_CPU_OPS(SHEAF_ENTRY)};
#undef SHEAF_ENTRY

/// oneDNN's recurrent layers in training, and its own workspaces, are of float32; so is the loss.
bool takes_only_float32(Op op) {
  const auto recurrent = recurrent_ops();
  return op == Op::check_finite ||
         std::any_of(recurrent.begin(), recurrent.end(), [&](const OpTraits& row) { return row.op == op; });
}

/// An operation on an empty chunk: all outputs have zero elements.
class Nothing final : public Executable {
 public:
  void run(void* const*, void*) override {}
};

Prepared prepare_nothing(const Operation& operation) {
  Prepared prepared = operation.prepared();
  prepared.executable = std::make_unique<Nothing>();
  prepared.implementation = "empty";
  prepared.reason = "its results have no elements: there is nothing to compute";
  return prepared;
}

Result<Prepare> find_operation(Op op) {
  const auto found =
      std::find_if(std::begin(operations), std::end(operations), [&](const Entry& entry) { return entry.op == op; });
  if (found == std::end(operations)) return Error("the CPU has no library operation of this name");
  return found->prepare;
}

/// Whether a primitive's code finds room. oneDNN takes what it is given for its code unseen, and writes to address 0 where
/// mmap() has failed; so that is tried before, with more than any one primitive takes.
bool room_for_code() {
  constexpr size_t kMost = size_t{32} << 20;
  void* const room = ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED && ::munmap(room, kMost) == 0;
}

}  // namespace

// Products of narrow values that this CPU would only imitate are refused, so that nobody mistakes them for real ones.
Result<void> supports_cpu_library_op(Op op, DType dtype) {
  SHEAF_TRY(find_operation(op));
  if (dtype == DType::float16) {
    return Error(
        "the plan computes in float16 (compiled with --precision f16), for which oneDNN has no arithmetic on CPUs; run it "
        "on CUDA devices, or compile the model with --precision bf16 or f32");
  }
  if (dtype == DType::bfloat16 && !has_bf16()) {
    return Error("the plan computes in bfloat16 (compiled with --precision bf16), but this CPU, " + cpu_model_name() +
                 ", has neither AVX-512 BF16 nor AMX and would only imitate it; compile the model with --precision f32");
  }
  if (dtype == DType::bfloat16 && takes_only_float32(op)) return Error("it computes in float32 alone on CPUs");
  return {};
}

Result<Prepared> prepare_cpu_library_op(const PrepareRequest& request) {
  const Op op = request.step.op;
  SHEAF_ASSIGN(const Prepare prepare, find_operation(op));
  if (!room_for_code()) return Error("there is not enough memory for its code");
  try {
    const TeamSize threads(request.threads);
    const Operation operation(request);
    const bool check = op == Op::check_finite;  // the one that is run for what it finds
    require(check || !request.outputs.empty(), "the step has no output");
    if (has_nothing_to_do(request)) return prepare_nothing(operation);
    return keep_nan(operation, prepare(operation), prepare);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) return Error(kNoMemory);
    return Error(std::string("oneDNN refuses it: ") + error.what());
  } catch (const std::bad_alloc&) {
    return Error(kNoMemory);
  } catch (const std::exception& error) {
    return Error(error.what());
  }
}

}  // namespace sheaf
