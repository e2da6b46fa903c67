#include "tests/unit/runtime/cpu/step_runner.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/ops/ops.h"
#include "runtime/cpu/ops/elements.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/guarded_buffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace sheaf::test {
namespace {

void run_once(Prepared& prepared, const std::vector<void*>& buffers) {
  Buffer scratch(prepared.scratch_bytes, poison);
  prepared.executable->run(buffers.data(), scratch.data());
}

void reorder(const TensorSpec& from, const TensorSpec& to, int threads, void* source, void* target) {
  auto prepared = prepare_cpu_reorder(from, to, threads);
  ASSERT_TRUE(bool(prepared)) << to_string(prepared.error());
  run_once(*prepared, {source, target});
}

struct Bound {
  Step step;
  Plan plan;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<char> constant;
};

Result<Prepared> bind(const StepCase& c, Bound& bound) {
  bound.step.op = c.op;
  bound.step.layer = "net.layer";
  bound.step.attributes = c.attributes;
  for (const Operand& operand : c.operands) {
    bound.step.roles.push_back(operand.role);
    const bool narrow = c.bf16 && operand.role != "bias";
    bound.inputs.push_back(plain_tensor(narrow ? DType::bfloat16 : DType::float32, operand.value.dims));
    bound.constant.push_back(operand.constant);
  }
  const bool sums = c.op == Op::conv_backward_weight || c.op == Op::linear_backward_weight;
  for (const auto& dims : c.outputs)
    bound.outputs.push_back(plain_tensor(c.bf16 && !sums ? DType::bfloat16 : DType::float32, dims));
  const std::span<const bool> constant(reinterpret_cast<const bool*>(bound.constant.data()), bound.constant.size());
  const OneChoice choice(c.candidate);
  PrepareRequest request{bound.step, bound.plan, bound.inputs, bound.outputs, c.threads, c.fast, constant};
  request.choices = &choice;
  return prepare_on(*cpu_device(), request);
}

/// Between a tensor's floats and a plain buffer of the spec's dtype.
void write(const Tensor& tensor, const TensorSpec& spec, void* to) {
  if (spec.dtype == DType::float32 && spec.bytes) std::memcpy(to, tensor.data.data(), spec.bytes);
  auto* narrow = static_cast<BFloat16*>(to);
  if (spec.dtype == DType::bfloat16)
    for (const float value : tensor.data) *narrow++ = BFloat16(value);
}

Tensor read(const TensorSpec& spec, const void* from) {
  Tensor tensor(spec.dims);
  if (spec.dtype == DType::float32 && spec.bytes) std::memcpy(tensor.data.data(), from, spec.bytes);
  const auto* narrow = static_cast<const BFloat16*>(from);
  if (spec.dtype == DType::bfloat16)
    for (float& value : tensor.data) value = float(*narrow++);
  return tensor;
}

}  // namespace

Tensor rounded_to_bf16(Tensor tensor) {
  for (float& value : tensor.data) value = float(BFloat16(value));
  return tensor;
}

Tensor::Tensor(std::vector<int64_t> shape) : dims(std::move(shape)) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  data.assign(count, 0.f);
}

Result<StepRun> run_step(const StepCase& c) {
  Bound bound;
  auto prepared = bind(c, bound);
  if (!prepared) return prepared.error();
  EXPECT_EQ(prepared->inputs.size(), bound.inputs.size());
  EXPECT_EQ(prepared->outputs.size(), bound.outputs.size());
  StepRun runs[2];
  for (StepRun& run : runs) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<void*> pointers;
    for (size_t i = 0; i < c.operands.size(); ++i) {
      Buffer plain(bound.inputs[i].bytes, poison);
      write(c.operands[i].value, bound.inputs[i], plain.data());
      buffers.push_back(std::make_unique<Buffer>(prepared->inputs[i].bytes, poison));
      pointers.push_back(buffers.back()->data());
      reorder(bound.inputs[i], prepared->inputs[i], c.threads, plain.data(), pointers.back());
    }
    for (const TensorSpec& output : prepared->outputs) {
      buffers.push_back(std::make_unique<Buffer>(output.bytes, poison));
      pointers.push_back(buffers.back()->data());
    }
    if (c.alias_residual && prepared->outputs[0].bytes > 0) {
      EXPECT_FALSE(prepared->in_place.empty());
      for (auto [input, output] : prepared->in_place) pointers[c.operands.size() + output] = pointers[input];
    }
    run_once(*prepared, pointers);
    for (size_t i = 0; i < bound.outputs.size(); ++i) {
      Buffer plain(bound.outputs[i].bytes, poison);
      reorder(prepared->outputs[i], bound.outputs[i], c.threads, pointers[c.operands.size() + i], plain.data());
      run.outputs.push_back(read(bound.outputs[i], plain.data()));
    }
    run.implementation = prepared->implementation;
    if (prepared->selection) {
      for (const auto& candidate : prepared->selection->candidates) run.candidates.push_back(candidate.name);
      run.candidate = prepared->selection->name();
    }
    EXPECT_FALSE(prepared->reason.empty()) << to_string(c.op) << " by " << run.implementation << " doesn't say why";
  }
  for (size_t i = 0; i < bound.outputs.size(); ++i) {
    const auto &a = runs[0].outputs[i].data, &b = runs[1].outputs[i].data;
    EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0)
        << "two runs of " << to_string(c.op) << " differ";
  }
  EXPECT_FALSE(runs[0].implementation.empty());
  return runs[0];
}

std::string refusal(const StepCase& c) {
  Bound bound;
  auto prepared = bind(c, bound);
  return prepared ? "" : prepared.error().message();
}

std::string describe(const StepCase& c) {
  std::string text = to_string(c.op) + " " + c.attributes.dump();
  for (const Operand& operand : c.operands) text += " " + operand.role + Json(operand.value.dims).dump();
  return text + (c.bf16 ? " bf16" : "") + (c.fast ? " fast" : "") + " threads " + std::to_string(c.threads);
}

double relative_error(const Tensor& actual, const Tensor& expected) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (actual.dims != expected.dims || actual.size() != expected.size()) return infinity;
  double largest = 1e-30, difference = 0;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.data[i], b = expected.data[i];
    if (!std::isfinite(a) || !std::isfinite(b)) return infinity;
    largest = std::max(largest, std::fabs(b));
    difference = std::max(difference, std::fabs(a - b));
  }
  return difference / largest;
}

}  // namespace sheaf::test
