// A run shown operation by operation, with the values that each completes.
#include "runtime/bind/binding.h"
#include "runtime/bind/planned_binding.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// The last operation that must be done before `tensor` can be read; -1: none. What is left out, because its target is
/// made where it is wanted, and prints, which write nothing, don't count by themselves.
int completed_by(const Graph& graph, int tensor) {
  int last = -1;
  for (const int writer : graph.tensors[index_of(tensor)].writers) {
    const Instance& instance = graph.instances[index_of(writer)];
    if (instance.kind == Instance::print) continue;
    last = std::max(last, instance.elided ? completed_by(graph, instance.inputs[0]) : writer);
  }
  return last;
}

}  // namespace

void Binding::note_values(const Graph& graph, const MemoryPlan& memory) {
  input_relocations_.resize(inputs_.size());
  output_relocations_.resize(outputs_.size());
  std::vector<std::pair<BoundValue, int>> found;  // with its tensor
  for (size_t v = 0; v < graph.values.size(); ++v) {
    for (size_t r = 0; r < graph.values[v].size(); ++r) {
      const int tensor = graph.values[v][r];
      if (tensor < 0) continue;
      const Tensor& home = graph.tensors[index_of(graph.root(tensor).tensor)];
      BoundValue value;
      value.value = static_cast<int>(v);
      value.replica = static_cast<int>(r);
      value.operation = completed_by(graph, tensor);
      value.lane = home.lane;
      value.spec = graph.tensors[index_of(tensor)].spec;
      value.constant = home.input >= 0 || (home.node >= 0 && !home.variable);
      if (value.spec.bytes > 0) found.emplace_back(std::move(value), tensor);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    const auto key = [](const BoundValue& value) { return std::tuple(value.operation, value.value, value.replica); };
    return key(a.first) < key(b.first);
  });
  values_.reserve(found.size());  // relocations point into it
  for (auto& [value, tensor] : found) {
    const Root root = graph.root(tensor);
    const Tensor& home = graph.tensors[index_of(root.tensor)];
    values_.push_back(std::move(value));
    void** slot = &values_.back().data;
    if (home.input >= 0) {
      input_relocations_[index_of(home.input)].push_back({slot, root.offset});
    } else if (home.output >= 0) {
      output_relocations_[index_of(home.output)].push_back({slot, root.offset});
    } else if (home.node >= 0) {
      *slot = constants_->data({home.node, root.offset});
    } else {
      *slot = static_cast<char*>(arenas_[index_of(home.lane)].get()) + memory.root_offsets[index_of(root.tensor)] + root.offset;
    }
  }
}

Result<void> Binding::observe(std::span<const void* const> inputs, std::span<void* const> outputs, const Observer& look) {
  SHEAF_TRY(take_buffers(inputs, outputs));
  auto next = values_.begin();
  const auto show = [&](int operation) {
    const auto begin = next;
    while (next != values_.end() && next->operation <= operation) ++next;
    return look(operation, {begin, next});
  };
  bool stopped = !show(-1);
  bool failed = false;
  if (stopped) return {};
  auto done = executor_->run_one_by_one(true, [&](size_t, const LaneOperation& operation) {
    if (operation.can_fail && operation.executable->failed()) {
      failed = true;
      return false;
    }
    stopped = !show(operation.instance);
    return !stopped;
  });
  if (trains_) constants_->changed();
  if (!done) return device_error();
  return failed ? run_error() : Result<void>();
}

Result<void> Binding::read(const BoundValue& value, void* plain) {
  return transfer(place_of(value.spec, value.data, value.lane),
                  place_of(plain_tensor(value.spec.dtype, value.spec.dims), plain, 0));
}

Result<void> Binding::write(const BoundValue& value, const void* plain) {
  return transfer(place_of(plain_tensor(value.spec.dtype, value.spec.dims), const_cast<void*>(plain), 0),
                  place_of(value.spec, value.data, value.lane));
}

TensorPlace Binding::place_of(TensorSpec spec, void* data, int lane) {
  return {devices_->device(lane), *executor_->lane(index_of(lane)).queue, std::move(spec), data};
}

}  // namespace sheaf
