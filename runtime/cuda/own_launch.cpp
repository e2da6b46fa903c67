#include "runtime/cuda/own_launch.h"

#include <algorithm>
#include <cstring>

namespace sheaf::cuda {
namespace {

struct NamedActivation {
  const char* name;
  KernelActivation::Kind kind;
  const char *alpha, *beta;  ///< attributes; null: none
  float alpha_otherwise, beta_otherwise;
};
constexpr NamedActivation kActivations[] = {
    {"relu", KernelActivation::relu, nullptr, nullptr, 0, 0},
    {"leaky_relu", KernelActivation::relu, "negative_slope", nullptr, 0.01F, 0},
    {"elu", KernelActivation::elu, "alpha", nullptr, 1, 0},
    {"silu", KernelActivation::silu, nullptr, nullptr, 0, 0},
    {"gelu", KernelActivation::gelu, nullptr, nullptr, 0, 0},
    {"gelu_tanh", KernelActivation::gelu_tanh, nullptr, nullptr, 0, 0},
    {"tanh", KernelActivation::tanh, nullptr, nullptr, 0, 0},
    {"sigmoid", KernelActivation::sigmoid, nullptr, nullptr, 0, 0},
    {"hardtanh", KernelActivation::hardtanh, "min_val", "max_val", -1, 1},
};

float number(const Json& object, const char* name, float otherwise) {
  if (!name) return otherwise;
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return otherwise;
  require(found->is_number(), std::string("activation's '") + name + "' should be a number");
  return found->get<float>();
}

}  // namespace

MemoryRef take_scratch(size_t& used, size_t bytes) {
  const size_t begin = (used + kAlignment - 1) / kAlignment * kAlignment;
  used = begin + bytes;
  return {MemoryRef::kScratch, begin};
}

KernelCall::KernelCall(Function function, std::array<uint64_t, 3> grid, unsigned block) {
  launch_.function = function;
  for (size_t i = 0; i < 3; ++i) launch_.grid[i] = unsigned(std::max<uint64_t>(grid[i], 1));
  launch_.block = block;
}

KernelCall& KernelCall::bytes(const void* data, size_t size, size_t alignment) {
  image_.resize((image_.size() + alignment - 1) / alignment * alignment);
  parameters_.push_back(image_.size());
  arguments_.resize(parameters_.size());
  const auto* begin = static_cast<const unsigned char*>(data);
  image_.insert(image_.end(), begin, begin + size);
  return *this;
}

KernelCall& KernelCall::address(MemoryRef where) { return addresses({where}, 1); }

KernelCall& KernelCall::addresses(const std::vector<MemoryRef>& where, size_t slots) {
  const std::vector<uint64_t> none(slots, 0);
  bytes(none.data(), slots * sizeof(uint64_t), alignof(uint64_t));
  for (size_t i = 0; i < where.size(); ++i) patches_.push_back({parameters_.back() + i * sizeof(uint64_t), where[i], false});
  return *this;
}

KernelCall& KernelCall::guard() {
  addresses({}, 1);
  patches_.push_back({parameters_.back(), {}, true});
  return *this;
}

KernelCall& KernelCall::together() {
  launch_.together = true;
  return *this;
}

Result<void> KernelCall::enqueue(Driver& driver, const Enqueue& at) {
  for (const Patch& patch : patches_) {
    const void* address = patch.guard ? static_cast<const void*>(at.guard) : patch.where.resolve(at);
    std::memcpy(&image_[patch.at], &address, sizeof address);
  }
  for (size_t i = 0; i < parameters_.size(); ++i) arguments_[i] = &image_[parameters_[i]];
  launch_.arguments = arguments_.data();
  return driver.launch(at.stream, launch_);
}

Result<void> KernelOperation::enqueue(const Enqueue& at) {
  for (KernelCall& call : calls_) SHEAF_TRY(call.enqueue(kernels_->driver(), at));
  return {};
}

std::string kernel_suffix(DType dtype) {
  return dtype == DType::float32 ? "f32" : dtype == DType::bfloat16 ? "bf16" : dtype == DType::float16 ? "f16" : "";
}

Function own_kernel(OwnKernels& kernels, const char* file, const std::string& name) {
  auto found = kernels.find(file, name);
  require(bool(found), found ? "" : found.error().message());
  return *found;
}

KernelCall sum_call(OwnKernels& kernels, MemoryRef y, const std::vector<MemoryRef>& addends, DType dtype, uint64_t elements) {
  const uint64_t at_once = 256 * 16 / size_of(dtype);
  const uint64_t blocks = std::min<uint64_t>((elements + at_once - 1) / at_once, kernels.most_blocks());
  return std::move(KernelCall(own_kernel(kernels, "sum", "sum_in_order_" + kernel_suffix(dtype)), {blocks, 1, 1})
                       .address(y)
                       .addresses(addends, kAddends)
                       .value(int32_t(addends.size()))
                       .value(elements)
                       .guard());
}

std::optional<KernelActivation> kernel_activation_of(const Step& step) {
  const auto found = step.attributes.find("activation");
  if (found == step.attributes.end() || found->is_null()) return std::nullopt;
  require(found->is_object() && found->contains("kind") && (*found)["kind"].is_string(),
          "attribute 'activation' should be an object with a 'kind'");
  const auto name = (*found)["kind"].get<std::string>();
  for (const NamedActivation& known : kActivations)
    if (name == known.name)
      return KernelActivation{known.kind, number(*found, known.alpha, known.alpha_otherwise),
                              number(*found, known.beta, known.beta_otherwise), name};
  throw OperationError("activation '" + name + "' is unknown");
}

void add_activation(std::vector<KernelCall>& calls, OwnKernels& kernels, const ActivationCall& call) {
  const std::string suffix = kernel_suffix(call.dtype);
  require(!suffix.empty(), "activations are of floating-point numbers");
  if (call.elements == 0) return;
  const uint64_t at_once = 256 * 2 * 16 / size_of(call.dtype);  // two vectors a thread
  const uint64_t blocks = std::min<uint64_t>((uint64_t(call.elements) + at_once - 1) / at_once, kernels.most_blocks());
  calls.push_back(KernelCall(own_kernel(kernels, "activation", "activate_" + suffix), {blocks, 1, 1})
                      .address(call.y)
                      .address(call.x)
                      .address(call.bias)
                      .address(call.residual)
                      .value(uint64_t(call.elements))
                      .value(uint64_t(std::max<int64_t>(call.inner, 1)))
                      .value(uint64_t(std::max<int64_t>(call.channels, 1)))
                      .value(int32_t(call.activation.kind))
                      .value(call.activation.alpha)
                      .value(call.activation.beta));
}

}  // namespace sheaf::cuda
