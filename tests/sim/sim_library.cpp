#include "tests/sim/sim_library.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/format.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"
#include "tests/sim/fused_norm.h"
#include "tests/sim/host_operand.h"
#include "tests/sim/joined_convolution.h"
#include "tests/sim/relayout.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace sheaf::sim {
namespace {

/// An operation's work when its turn comes; outlives the operation if it is still in a stream.
struct Body {
  std::unique_ptr<Executable> executable;  ///< null: a copy between formats
  std::vector<HostOperand> inputs, outputs;
  size_t scratch_bytes = 0;
  std::atomic<bool> failed[2] = {false, false};  ///< by phase: the last run

  Result<void> run(const std::vector<void*>& addresses, void* scratch, const int32_t* guard, int32_t* flag, int phase,
                   OperationMemory& memory) {
    if (guard) {
      const int32_t* value = memory.at<int32_t>(guard, 1, false);
      if (!value) return Error("an illegal memory access was encountered");
      if (*value != 0) return {};
    }
    std::vector<void*> buffers, places;
    static char nothing[64];  // behind operands without elements
    const auto at = [&](size_t i, const TensorSpec& spec, bool writes) -> void* {
      return spec.bytes == 0 ? nothing : memory.at<char>(addresses[i], spec.bytes, writes);
    };
    for (size_t i = 0; i < inputs.size(); ++i) {
      void* bytes = at(i, inputs[i].gpu, false);
      if (!bytes) return Error("an illegal memory access was encountered");
      buffers.push_back(executable ? inputs[i].taken(bytes) : bytes);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      places.push_back(at(inputs.size() + i, outputs[i].gpu, true));
      if (!places.back()) return Error("an illegal memory access was encountered");
      buffers.push_back(executable ? outputs[i].place(places.back()) : places.back());
    }
    if (!executable) {
      copy(buffers[0], buffers[1]);
      return {};
    }
    void* space = scratch_bytes == 0 ? nullptr : memory.at<char>(scratch, scratch_bytes, true);
    executable->run(buffers.data(), space);
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].give(places[i]);
    failed[phase] = executable->failed(phase);
    if (!failed[phase]) return {};
    int32_t* raised = memory.at<int32_t>(flag, 1, true);
    if (!raised) return Error("an illegal memory access was encountered");
    *raised = 1;
    return {};
  }

 private:
  void copy(const void* from, void* to) const {
    if (same_form(inputs[0].gpu, outputs[0].gpu)) {
      std::memcpy(to, from, std::min(inputs[0].gpu.bytes, outputs[0].gpu.bytes));
    } else {
      relayout(inputs[0].gpu, from, outputs[0].gpu, to);
    }
  }
};

class NumbersOfBytes final : public Executable {
 public:
  NumbersOfBytes(const std::vector<int64_t>& dims, std::span<const float> numbers) : numbers_(numbers.begin(), numbers.end()) {
    for (size_t i = 0; i < dims.size(); ++i) (i < 2 ? rows_ : inner_) *= static_cast<size_t>(dims[i]);
  }
  void run(void* const* buffers, void*) override {
    const auto* bytes = static_cast<const uint8_t*>(buffers[0]);
    auto* to = static_cast<float*>(buffers[1]);
    const size_t channels = numbers_.size() / 256;
    for (size_t row = 0; row < rows_; ++row)
      for (size_t i = 0; i < inner_; ++i) *to++ = numbers_[row % channels * 256 + *bytes++];
  }

 private:
  std::vector<float> numbers_;
  size_t rows_ = 1, inner_ = 1;
};

class LibraryOperation final : public cuda::Operation {
 public:
  LibraryOperation(SimDriver& driver, std::shared_ptr<Body> body, const LibraryOptions& options, std::string failure)
      : driver_(driver),
        body_(std::move(body)),
        failure_(std::move(failure)),
        guardable_(options.guardable),
        recordable_(options.recordable) {
    operand_alignment = cuda::kOperandAlignment;
  }
  Result<void> enqueue(const cuda::Enqueue& at) override {
    std::vector<void*> addresses(at.buffers, at.buffers + body_->inputs.size() + body_->outputs.size());
    if (at.guard && !guardable_) driver_.violation(what + " is launched guarded, though it cannot be");
    return driver_.enqueue(at.stream, what,
                           [body = body_, addresses, scratch = at.scratch, guard = at.guard, flag = at.flag, phase = at.phase](
                               OperationMemory& memory) { return body->run(addresses, scratch, guard, flag, phase, memory); });
  }
  bool reports_by_phase() const override { return true; }
  bool failed(int phase) const override { return body_->failed[phase]; }
  std::string failure(int phase) const override { return failed(phase) ? failure_ : std::string(); }
  bool guardable() const override { return guardable_; }
  bool recordable() const override { return recordable_; }

 private:
  SimDriver& driver_;
  std::shared_ptr<Body> body_;
  std::string failure_;
  bool guardable_, recordable_;
};

bool of_images(Op op) {
  for (const auto family : {convolutions(), normalizations(), poolings()})
    if (std::any_of(family.begin(), family.end(), [&](const OpTraits& row) { return row.op == op; })) return true;
  return false;
}

/// The CPU has no f16: it computes in f32 what is f16 here.
DType dtype_on_cpu(DType dtype) { return dtype == DType::float16 ? DType::float32 : dtype; }

/// A step's own memory, which only the backward step of the same library reads.
bool is_workspace(const TensorSpec& spec) { return spec.dtype == DType::uint8; }

}  // namespace

Result<Prepared> SimLibrary::prepare_reorder(const TensorSpec& from, const TensorSpec& to) {
  auto body = std::make_shared<Body>();
  body->inputs.resize(1);
  body->outputs.resize(1);
  body->inputs[0].gpu = from;
  body->outputs[0].gpu = to;
  Prepared prepared;
  prepared.inputs = {from};
  prepared.outputs = {to};
  prepared.implementation = "sim";
  prepared.executable = std::make_unique<LibraryOperation>(driver_, std::move(body), options_, "");
  return prepared;
}

Result<Prepared> SimLibrary::prepare_numbers(const PrepareRequest& request) {
  auto body = std::make_shared<Body>();
  const TensorSpec &from = request.inputs[0], &to = request.outputs[0];
  body->inputs.push_back({from, from, {}, {}, {}, {}});
  body->outputs.push_back({to, plain_tensor(DType::float32, to.dims), {}, {}, {}, {}});
  SHEAF_TRY(body->outputs[0].prepare(false));
  body->executable = std::make_unique<NumbersOfBytes>(from.dims, request.numbers);
  Prepared prepared;
  prepared.inputs = {from};
  prepared.outputs = {to};
  prepared.implementation = "sim";
  prepared.executable = std::make_unique<LibraryOperation>(driver_, std::move(body), options_, "");
  return prepared;
}

Result<void> SimLibrary::supports(Op op, DType dtype) {
  return (options_.operations ? *options_.operations : *cpu_device()).supports(op, dtype_on_cpu(dtype));
}

Result<Prepared> SimLibrary::prepare(const PrepareRequest& request) {
  if (request.step.op == Op::reorder && !request.numbers.empty()) return prepare_numbers(request);
  if (request.step.op == Op::reorder) return prepare_reorder(request.inputs[0], request.outputs[0]);
  // The CPU sees plain operands, whatever they are here.
  std::vector<TensorSpec> inputs, outputs;
  for (const TensorSpec& spec : request.inputs) {
    inputs.push_back(is_workspace(spec) ? spec : plain_tensor(dtype_on_cpu(spec.dtype), spec.dims));
  }
  for (const TensorSpec& spec : request.outputs) outputs.push_back(plain_tensor(dtype_on_cpu(spec.dtype), spec.dims));
  PrepareRequest plain = request;
  plain.inputs = inputs;
  plain.outputs = outputs;
  plain.threads = 1;
  Device& operations = options_.operations ? *options_.operations : *cpu_device();
  if (is_joined(request.step) && !options_.joins_convolutions)
    return Error("this library joins no convolutions with batch norms");
  auto prepared = is_joined(request.step)                               ? prepare_joined(plain)
                  : options_.fuses_norms && is_fused_norm(request.step) ? prepare_fused_norm(plain, operations)
                                                                        : operations.prepare(plain);
  if (!prepared) return prepared;

  const bool last = options_.channels_last && of_images(request.step.op);
  const bool narrows = options_.narrow_gradients && request.step.op == Op::conv_backward_weight;
  auto body = std::make_shared<Body>();
  const auto operands = [&](std::vector<TensorSpec>& specs, std::vector<HostOperand>& made, bool input) -> Result<void> {
    const auto asked = input ? request.inputs : request.outputs;
    for (TensorSpec& spec : specs) {
      HostOperand operand;
      operand.cpu = spec;
      if (!is_workspace(spec)) {
        const bool narrow = !input && made.empty() && narrows;
        const bool half = made.size() < asked.size() && asked[made.size()].dtype == DType::float16;
        spec = plain_tensor(narrow ? DType::bfloat16 : half ? DType::float16 : spec.dtype, spec.dims);
        if (last) spec = cuda::channels_last(spec);
      }
      operand.gpu = spec;
      if (auto ok = operand.prepare(input); !ok) return ok;
      made.push_back(std::move(operand));
    }
    return {};
  };
  if (auto ok = operands(prepared->inputs, body->inputs, true); !ok) return ok.error();
  if (auto ok = operands(prepared->outputs, body->outputs, false); !ok) return ok.error();
  std::erase_if(prepared->in_place, [&](const std::pair<int, int>& pair) {
    return !same_format(prepared->inputs[static_cast<size_t>(pair.first)], prepared->outputs[static_cast<size_t>(pair.second)]);
  });
  body->scratch_bytes = prepared->scratch_bytes;
  body->executable = std::move(prepared->executable);
  const std::string failure = request.step.op == Op::check_finite ? "the loss is not finite" : "it doesn't like what it sees";
  prepared->implementation = "sim";
  prepared->executable = std::make_unique<LibraryOperation>(driver_, std::move(body), options_, failure);
  return prepared;
}

}  // namespace sheaf::sim
