#include "runtime/bind/communications.h"

#include "runtime/bind/graph.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

class Finder {
 public:
  Finder(const Graph& graph, const Program& program) : graph_(graph), program_(program) {
    for (size_t v = 0; v < program.values.size(); ++v) values_[program.values[v].name] = static_cast<int>(v);
    makers_.assign(program.values.size(), nullptr);
    for (const Step& step : program.steps) {
      for (int output : step.outputs) makers_[index_of(output)] = &step;
    }
    for (const Value& value : program.values) {
      const bool given = value.role == Value::input || value.role == Value::target || value.role == Value::setting;
      if (given) rows_.push_back(value.role != Value::setting);
    }
  }

  std::vector<Communication> find() {
    for (size_t i = 0; i < graph_.instances.size(); ++i) {
      const Instance& instance = graph_.instances[i];
      if (instance.elided || instance.kind == Instance::print) continue;
      seen_.clear();
      for (int input : instance.inputs) add(input, static_cast<int>(i), instance);
      if (instance.collective >= 0 && instance.outputs.size() + instance.inputs.size() > 0) add_collective(i);
    }
    for (int output : graph_.outputs) {
      seen_.clear();
      for (int writer : writers(output)) {
        if (graph_.instances[index_of(writer)].lane != 0) add(writer, -1, output, nullptr);
      }
    }
    return std::move(found_);
  }

 private:
  /// The instances that make what `tensor` holds; where a copy was left out, those that make its source.
  std::vector<int> writers(int tensor) const {
    std::vector<int> all;
    for (int writer : graph_.tensors[index_of(tensor)].writers) {
      const Instance& instance = graph_.instances[index_of(writer)];
      if (!instance.elided && instance.kind != Instance::print) {
        all.push_back(writer);
      } else {
        const std::vector<int> behind = writers(instance.inputs[0]);
        all.insert(all.end(), behind.begin(), behind.end());
      }
    }
    return all;
  }

  /// What instance `i` gets from the other devices of its group, whose members follow the root.
  void add_collective(size_t i) {
    size_t first = i, end = i + 1;
    while (first > 0 && graph_.instances[first - 1].collective == graph_.instances[i].collective) --first;
    while (end < graph_.instances.size() && graph_.instances[end].collective == graph_.instances[i].collective) ++end;
    const Op op = *graph_.instances[i].op;
    if ((op == Op::broadcast) == (i == first)) return;
    const auto bytes = [&](const std::vector<int>& operands) {
      size_t sum = 0;
      for (int operand : operands) sum += graph_.tensors[index_of(operand)].spec.bytes;
      return sum;
    };
    for (size_t from = i == first ? first + 1 : first; from < (i == first ? end : first + 1); ++from) {
      const size_t sent = bytes(i == first ? graph_.instances[from].inputs : graph_.instances[i].outputs);
      found_.push_back({op, "", static_cast<int>(from), static_cast<int>(i), sent});
    }
  }

  void add(int input, int consumer, const Instance& instance) {
    for (int writer : writers(input)) {
      if (graph_.instances[index_of(writer)].lane != instance.lane) add(writer, consumer, input, &instance);
    }
    const int source = graph_.tensors[index_of(graph_.root(input).tensor)].input;
    if (source >= 0 && rows_[index_of(source)] && instance.lane != 0) add(-1, consumer, input, &instance);
  }

  void add(int producer, int consumer, int tensor, const Instance* user) {
    const int source = producer >= 0 ? producer : -1 - graph_.root(tensor).tensor;
    if (std::find(seen_.begin(), seen_.end(), source) != seen_.end()) return;
    seen_.push_back(source);
    Communication found{Op::share, {}, producer, consumer, graph_.tensors[index_of(tensor)].spec.bytes};
    if (producer >= 0) {  // a part of what is gathered, or all of what is scattered
      for (int made : graph_.instances[index_of(producer)].outputs) {
        const bool same = graph_.root(made).tensor == graph_.root(tensor).tensor;
        if (same) found.bytes = std::min(found.bytes, graph_.tensors[index_of(made)].spec.bytes);
      }
    }
    const Step* step = user && user->step >= 0 ? &program_.steps[index_of(user->step)] : nullptr;
    if (!step || !moves(step->op)) step = mover(graph_.tensors[index_of(tensor)].name);
    if (step) {
      found.op = step->op;
      found.layer = step->layer;
    } else if (user && user->kind == Instance::fetch) {
      found.op = Op::transfer;
    }
    found_.push_back(std::move(found));
  }

  /// The step that brought the value to where it is used; null where it was made there.
  const Step* mover(const std::string& value) const {
    const auto known = values_.find(value);
    if (known == values_.end()) return nullptr;
    for (const Step* step = makers_[index_of(known->second)]; step; step = makers_[index_of(step->inputs[0])]) {
      if (moves(step->op)) return step;
      if ((step->op != Op::view && step->op != Op::print) || step->inputs.empty()) return nullptr;
    }
    return nullptr;
  }

  const Graph& graph_;
  const Program& program_;
  std::map<std::string, int> values_;
  std::vector<const Step*> makers_;  ///< by value
  std::vector<bool> rows_;           ///< by program input: data, not a setting of the training loop
  std::vector<int> seen_;            ///< producers that the consumer at hand was joined to, or the caller's tensors
  std::vector<Communication> found_;
};

}  // namespace

std::vector<Communication> communications(const Graph& graph, const Program& program) { return Finder(graph, program).find(); }

}  // namespace sheaf
