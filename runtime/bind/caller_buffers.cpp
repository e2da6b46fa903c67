#include "runtime/bind/caller_buffers.h"

#include <algorithm>

namespace sheaf {
namespace {

bool aligned(const void* buffer, const TensorSpec& spec) {
  return reinterpret_cast<uintptr_t>(buffer) % size_of(spec.dtype) == 0;
}

}  // namespace

CallerBuffers::CallerBuffers(const BoundProgram& program) {
  for (const Tensor& tensor : program.tensors) {
    const auto* given = tensor.lies<Tensor::Given>();
    if (!given) continue;
    const auto input = static_cast<size_t>(given->input);
    inputs_.specs.resize(std::max(inputs_.specs.size(), input + 1));
    inputs_.specs[input] = tensor.spec;
  }
  for (TensorId output : program.outputs) outputs_.specs.push_back(program.tensors[output].spec);
  for (Side* side : {&inputs_, &outputs_}) {
    side->relocations.resize(side->specs.size());
    side->addresses.assign(side->specs.size(), nullptr);
  }
}

void CallerBuffers::hang(void** slot, const Tensor::Given& given, size_t offset) {
  inputs_.relocations[static_cast<size_t>(given.input)].push_back({slot, offset});
}

void CallerBuffers::hang(void** slot, const Tensor::Wanted& wanted, size_t offset) {
  outputs_.relocations[static_cast<size_t>(wanted.output)].push_back({slot, offset});
}

bool CallerBuffers::Side::holds(std::span<const void* const> buffers) const {
  return std::equal(buffers.begin(), buffers.end(), addresses.begin(), addresses.end());
}

Result<void> CallerBuffers::Side::check(size_t first, std::span<const void* const> buffers, const char* what) const {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const TensorSpec& spec = specs[first + i];
    if (spec.bytes == 0) continue;
    if (!buffers[i]) return Error(what + std::to_string(first + i) + " has no buffer");
    if (aligned(buffers[i], spec)) continue;
    return Error(what + std::to_string(first + i) + ": its buffer is not aligned to the element size, " +
                 std::to_string(size_of(spec.dtype)) + " bytes");
  }
  return {};
}

void CallerBuffers::Side::put(size_t first, std::span<const void* const> buffers) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    addresses[first + i] = buffers[i];
    for (const Relocation& relocation : relocations[first + i]) {
      *relocation.slot = static_cast<char*>(const_cast<void*>(buffers[i])) + relocation.offset;
    }
  }
}

Result<void> CallerBuffers::take(std::span<const void* const> inputs, std::span<void* const> outputs) {
  const std::span<const void* const> results(outputs.data(), outputs.size());
  if (taken_ && !inputs.empty() && inputs_.holds(inputs) && outputs_.holds(results)) return {};
  SHEAF_TRY(take({{0, inputs_.specs.size()}, {0, outputs_.specs.size()}}, inputs, outputs));
  taken_ = true;
  return {};
}

Result<void> CallerBuffers::take(const Some& some, std::span<const void* const> inputs, std::span<void* const> outputs) {
  const std::span<const void* const> results(outputs.data(), outputs.size());
  const size_t wants = some.inputs.second - some.inputs.first, gives = some.outputs.second - some.outputs.first;
  if (inputs.size() != wants || outputs.size() != gives) {
    return Error("a run needs " + std::to_string(wants) + " input and " + std::to_string(gives) + " output buffers; " +
                 std::to_string(inputs.size()) + " and " + std::to_string(outputs.size()) + " are given");
  }
  SHEAF_TRY(inputs_.check(some.inputs.first, inputs, "input "));
  SHEAF_TRY(outputs_.check(some.outputs.first, results, "output "));
  inputs_.put(some.inputs.first, inputs);
  outputs_.put(some.outputs.first, results);
  return {};
}

}  // namespace sheaf
