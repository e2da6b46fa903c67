#include "tests/unit/runtime/cpu/training_runner.h"

#include <cstring>

#include "runtime/cpu/dnnl/dnnl_format.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/ops/ops.h"

namespace sheaf::test {
namespace {

using tag = dnnl::memory::format_tag;

std::shared_ptr<Buffer> reordered(const TensorSpec& from, const TensorSpec& to, int threads, Buffer& source) {
  auto target = std::make_shared<Buffer>(to.bytes, poison);
  if (same_format(from, to)) {
    if (to.bytes) std::memcpy(target->data(), source.data(), to.bytes);
    return target;
  }
  auto prepared = prepare_cpu_reorder(from, to, threads);
  EXPECT_TRUE(bool(prepared)) << to_string(prepared.error());
  if (!prepared) return target;
  Buffer scratch(prepared->scratch_bytes, poison);
  void* buffers[] = {source.data(), target->data()};
  prepared->executable->run(buffers, scratch.data());
  return target;
}

}  // namespace

Stored store(const Tensor& tensor, const std::string& layout) {
  const TensorSpec spec = plain_tensor(DType::float32, tensor.dims);
  auto bytes = std::make_shared<Buffer>(spec.bytes, poison);
  if (spec.bytes) std::memcpy(bytes->data(), tensor.data.data(), spec.bytes);
  const size_t rank = tensor.dims.size();
  if (layout == "plain" || rank < 3 || rank > 5) return {spec, bytes};
  constexpr tag blocked[] = {tag::nCw16c, tag::nChw16c, tag::nCdhw16c}, last[] = {tag::nwc, tag::nhwc, tag::ndhwc};
  const DnnlDesc desc(tensor.dims, dnnl::memory::data_type::f32, (layout == "last" ? last : blocked)[rank - 3]);
  const TensorSpec wanted = dnnl_tensor(tensor.dims, desc, plain_desc(tensor.dims), "ncdhw");
  return {wanted, reordered(spec, wanted, 1, *bytes)};
}

Tensor plain(const Stored& value) {
  Tensor tensor(value.spec.dims);
  const TensorSpec spec = plain_tensor(DType::float32, value.spec.dims);
  const auto bytes = reordered(value.spec, spec, 1, *value.bytes);
  if (spec.bytes) std::memcpy(tensor.data.data(), bytes->data(), spec.bytes);
  return tensor;
}

TrainingStep step_of(const StepCase& c, const std::function<std::string()>& layout) {
  TrainingStep step;
  step.op = c.op;
  for (const Operand& operand : c.operands) step.operands.emplace_back(operand.role, store(operand.value, layout()));
  step.attributes = c.attributes;
  step.outputs = c.outputs;
  step.threads = c.threads;
  step.fast = c.fast;
  return step;
}

Result<TrainingRun> run_training(const TrainingStep& c) {
  Step step;
  step.op = c.op;
  step.layer = "net.layer";
  step.attributes = c.attributes;
  const Plan plan;
  std::vector<TensorSpec> inputs, outputs;
  for (const auto& [role, value] : c.operands) {
    step.roles.push_back(role);
    inputs.push_back(value.spec);
  }
  for (const auto& dims : c.outputs)
    outputs.push_back(plain_tensor(int(outputs.size()) == c.workspace ? DType::uint8 : DType::float32, dims));
  const PrepareRequest request{step, plan, inputs, outputs, c.threads, c.fast, {}};
  auto prepared = c.prepare ? c.prepare(request) : prepare_on(*cpu_device(), request);
  if (!prepared) return prepared.error();
  EXPECT_EQ(prepared->inputs.size(), inputs.size());
  EXPECT_EQ(prepared->outputs.size(), outputs.size());
  EXPECT_FALSE(prepared->implementation.empty());
  EXPECT_FALSE(prepared->reason.empty()) << to_string(step.op) << " by " << prepared->implementation << " doesn't say why";
  TrainingRun runs[2];
  for (TrainingRun& run : runs) {
    std::vector<std::shared_ptr<Buffer>> buffers;
    std::vector<void*> pointers;
    for (size_t i = 0; i < inputs.size(); ++i) {
      buffers.push_back(reordered(inputs[i], prepared->inputs[i], c.threads, *c.operands[i].second.bytes));
      pointers.push_back(buffers.back()->data());
    }
    for (const TensorSpec& output : prepared->outputs) {
      run.outputs.push_back({output, std::make_shared<Buffer>(output.bytes, poison)});
      pointers.push_back(run.outputs.back().bytes->data());
    }
    if (c.in_place) {
      EXPECT_FALSE(prepared->in_place.empty());
      for (const auto& [input, output] : prepared->in_place) {
        run.outputs[size_t(output)].bytes = buffers[size_t(input)];
        pointers[inputs.size() + size_t(output)] = pointers[size_t(input)];
      }
    }
    Buffer scratch(prepared->scratch_bytes, poison);
    prepared->executable->run(pointers.data(), scratch.data());
    run.implementation = prepared->implementation;
    run.wanted = prepared->inputs;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (int(i) == c.workspace) continue;
    const Tensor a = test::plain(runs[0].outputs[i]), b = test::plain(runs[1].outputs[i]);
    EXPECT_TRUE(a.data.empty() || std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof(float)) == 0)
        << "two runs of " << to_string(c.op) << " differ in output " << i;
  }
  return std::move(runs[0]);
}

}  // namespace sheaf::test
