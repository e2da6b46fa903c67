#include "tests/sim/fused_norm.h"

#include "runtime/plan/op_list.h"
#include "tests/sim/host_operand.h"

#include <algorithm>

namespace sheaf::sim {
namespace {

/// The position of the operand that has `role`; -1: none.
int position(const Step& step, std::string_view role) {
  const auto found = std::find(step.roles.begin(), step.roles.end(), role);
  return found == step.roles.end() ? -1 : static_cast<int>(found - step.roles.begin());
}

/// y = max(norm(x) + residual, 0), and where that isn't 0; without ReLU only the norm. The mean is of x + x_bias.
struct Forward final : Executable {
  std::unique_ptr<Executable> norm;
  std::vector<int> of_norm;  ///< its operands among the buffers
  int y = 0, residual = -1, mask = -1, x_bias = -1;
  bool relu = false;
  int64_t elements = 0, channels = 0;
  void run(void* const* buffers, void* scratch) override {
    std::vector<void*> own;
    for (int i : of_norm) own.push_back(buffers[i]);
    norm->run(own.data(), scratch);
    if (x_bias >= 0) {
      auto* mean = static_cast<float*>(buffers[y + 1]);
      for (int64_t c = 0; c < channels; ++c) mean[c] += static_cast<const float*>(buffers[x_bias])[c];
    }
    if (!relu) return;
    auto* out = static_cast<float*>(buffers[y]);
    const auto* added = residual < 0 ? nullptr : static_cast<const float*>(buffers[residual]);
    auto* kept = mask < 0 ? nullptr : static_cast<uint8_t*>(buffers[mask]);
    for (int64_t i = 0; i < elements; ++i) {
      const float sum = added ? out[i] + added[i] : out[i];
      out[i] = sum > 0 || sum != sum ? sum : 0.0F;
      if (kept) kept[i] = sum > 0 ? 1 : 0;
    }
  }
};

/// dz = dy, plus dy2 if there is one, where the mask allows it, then the gradients of the batch norm by dz.
struct Backward final : Executable {
  std::unique_ptr<Executable> norm;
  std::vector<int> of_norm;
  int dy = 0, dy2 = -1, mask = 0, dz = -1;  ///< dz: also the output that it is
  int mean = 0, x_bias = -1;
  bool relu = false;
  std::vector<float> masked, centre;
  void run(void* const* buffers, void* scratch) override {
    const auto* gradient = static_cast<const float*>(buffers[dy]);
    const auto* kept = relu ? static_cast<const uint8_t*>(buffers[mask]) : nullptr;
    const auto* more = dy2 < 0 ? nullptr : static_cast<const float*>(buffers[dy2]);
    for (size_t c = 0; x_bias >= 0 && c < centre.size(); ++c)
      centre[c] = static_cast<const float*>(buffers[mean])[c] - static_cast<const float*>(buffers[x_bias])[c];
    for (size_t i = 0; relu && i < masked.size(); ++i) masked[i] = !kept[i] ? 0.0F : more ? gradient[i] + more[i] : gradient[i];
    if (dz >= 0) std::copy(masked.begin(), masked.end(), static_cast<float*>(buffers[dz]));
    std::vector<void*> own;
    for (int i : of_norm)
      own.push_back(i == dy && relu ? masked.data() : i == mean && x_bias >= 0 ? centre.data() : buffers[i]);
    norm->run(own.data(), scratch);
  }
};

/// A batch norm on plain operands, whatever its own are.
struct OnPlain final : Executable {
  std::unique_ptr<Executable> norm;
  std::vector<HostOperand> operands;  ///< inputs, then outputs
  size_t inputs = 0;
  void run(void* const* buffers, void* scratch) override {
    std::vector<void*> own;
    for (size_t i = 0; i < operands.size(); ++i)
      own.push_back(i < inputs ? operands[i].taken(buffers[i]) : operands[i].place(buffers[i]));
    norm->run(own.data(), scratch);
    for (size_t i = inputs; i < operands.size(); ++i) operands[i].give(buffers[i]);
  }
};

Result<void> take_plain(Prepared& norm) {
  auto made = std::make_unique<OnPlain>();
  for (const auto* specs : {&norm.inputs, &norm.outputs})
    for (const TensorSpec& spec : *specs) {
      made->operands.push_back({plain_tensor(spec.dtype, spec.dims), spec, {}, {}, {}, {}});
      SHEAF_TRY(made->operands.back().prepare(specs == &norm.inputs));
    }
  made->inputs = norm.inputs.size();
  made->norm = std::move(norm.executable);
  norm.executable = std::move(made);
  return {};
}

}  // namespace

bool is_fused_norm(const Step& step) {
  return (step.op == Op::batch_norm_train || step.op == Op::batch_norm_backward) &&
         (step.attributes.contains("activation") || position(step, "x_bias") >= 0);
}

Result<Prepared> prepare_fused_norm(const PrepareRequest& request, Device& operations) {
  const bool forward = request.step.op == Op::batch_norm_train;
  Step step = request.step;
  step.attributes.erase("activation");
  std::vector<TensorSpec> inputs, outputs;
  std::vector<int> of_norm;
  step.inputs.clear();
  step.roles.clear();
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const std::string& role = request.step.roles[i];
    if (role == "residual" || role == "workspace" || role == "dy2" || role == "x_bias") continue;
    step.inputs.push_back(request.step.inputs[i]);
    step.roles.push_back(request.step.roles[i]);
    inputs.push_back(request.inputs[i]);
    of_norm.push_back(static_cast<int>(i));
  }
  const size_t count = forward ? 3 : position(step, "weight") >= 0 ? 3 : 1;
  for (size_t o = 0; o < count; ++o) {
    outputs.push_back(request.outputs[o]);
    of_norm.push_back(static_cast<int>(request.inputs.size() + o));
  }
  step.outputs.resize(count);
  PrepareRequest plain{step, request.plan, inputs, outputs, 1, request.fast_numerics, request.constant.first(inputs.size())};
  auto norm = operations.prepare(plain);
  if (!norm) return norm.error();
  SHEAF_TRY(take_plain(*norm));
  const int64_t elements = element_count(request.inputs[0]);
  Prepared prepared;
  prepared.inputs.assign(request.inputs.begin(), request.inputs.end());
  prepared.outputs.assign(request.outputs.begin(), request.outputs.end());
  prepared.scratch_bytes = norm->scratch_bytes;
  if (forward) {
    auto made = std::make_unique<Forward>();
    made->y = static_cast<int>(request.inputs.size());
    made->residual = position(request.step, "residual");
    made->x_bias = position(request.step, "x_bias");
    made->relu = request.step.attributes.contains("activation");
    made->channels = request.inputs[0].dims[1];
    made->elements = elements;
    if (request.outputs.size() > 3) {
      made->mask = made->y + 3;
      prepared.outputs[3].bytes = static_cast<size_t>(elements);
    }
    made->of_norm = std::move(of_norm);
    made->norm = std::move(norm->executable);
    prepared.executable = std::move(made);
    return prepared;
  }
  auto made = std::make_unique<Backward>();
  made->dy = position(request.step, "dy");
  made->dy2 = position(request.step, "dy2");
  made->mask = position(request.step, "workspace");
  if (request.outputs.size() > count) made->dz = static_cast<int>(request.inputs.size() + count);
  made->mean = position(request.step, "mean");
  made->x_bias = position(request.step, "x_bias");
  made->relu = request.step.attributes.contains("activation");
  made->masked.resize(static_cast<size_t>(elements));
  made->centre.resize(static_cast<size_t>(request.inputs[0].dims[1]));
  made->of_norm = std::move(of_norm);
  made->norm = std::move(norm->executable);
  prepared.executable = std::move(made);
  return prepared;
}

}  // namespace sheaf::sim
