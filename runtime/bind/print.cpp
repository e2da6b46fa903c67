#include "runtime/bind/print.h"

#include "runtime/base/printable.h"
#include "runtime/bind/operation_info.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

constexpr size_t kColumns = 120;

std::string number(size_t n) { return std::to_string(n); }

std::string type_of(const TensorSpec& spec) {
  std::string text = std::string(name_of(spec.dtype)) + "[";
  for (size_t i = 0; i < spec.dims.size(); ++i) text += (i ? "," : "") + std::to_string(spec.dims[i]);
  return text + "]" + (spec.plain() ? "" : " as " + spec.format->name());
}

/// "#0, #3".
std::string list_of(const std::vector<int>& instances) {
  std::string text;
  for (int i : instances) text += (text.empty() ? "#" : ", #") + std::to_string(i);
  return text;
}

class Printer {
 public:
  Printer(const Graph& graph, const Program& program, const DeviceSet& devices, const MemoryPlan* memory)
      : graph_(graph),
        program_(program),
        devices_(devices),
        memory_(memory),
        operations_(describe_operations(graph, program, devices)) {}

  std::string print() {
    for (size_t t = 0; t < graph_.tensors.size(); ++t) line(tensor(static_cast<int>(t)));
    text_ += '\n';
    for (size_t i = 0; i < graph_.instances.size(); ++i) line(instance(static_cast<int>(i)));
    text_ += '\n';
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const std::string name = i < program_.outputs.size() ? ": " + printable(program_.outputs[i].name) : "";
      line("output " + number(i) + name + " is %" + std::to_string(graph_.outputs[i]));
    }
    for (const Graph::Update& update : graph_.updates)
      line("update %" + std::to_string(update.variable) + " to %" + std::to_string(update.value));
    for (size_t lane = 0; lane < graph_.lane_order.size(); ++lane) add_lane(lane);
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  std::string lies(const Tensor& tensor, int id) const {
    if (tensor.base >= 0) return "at %" + std::to_string(tensor.base) + (tensor.delta ? " + " + number(tensor.delta) : "");
    if (tensor.input >= 0) return "input " + std::to_string(tensor.input);
    if (tensor.output >= 0) return "output " + std::to_string(tensor.output);
    if (tensor.node >= 0) return (tensor.variable ? "variable " : "constant ") + std::to_string(tensor.node);
    return memory_ ? "arena + " + number(memory_->root_offsets[index_of(id)]) : "arena";
  }

  std::string tensor(int id) const {
    const Tensor& tensor = graph_.tensors[index_of(id)];
    return "%" + std::to_string(id) + " " + printable(tensor.name) + ": " + type_of(tensor.spec) + " on " +
           devices_.name(tensor.lane) + ", " + lies(tensor, id) +
           (tensor.writers.empty() ? "" : ", made by " + list_of(tensor.writers));
  }

  std::string operands(const std::vector<int>& tensors, size_t offset) const {
    std::string text = "(";
    for (int tensor : tensors) text += (text.size() > 1 ? ", %" : "%") + std::to_string(tensor);
    return text + (offset ? " + " + number(offset) : "") + ")";
  }

  std::string instance(int id) const {
    const Instance& instance = graph_.instances[index_of(id)];
    const OperationInfo& info = operations_[index_of(id)];
    std::string text = "#" + std::to_string(id) + " on " + devices_.name(instance.lane);
    if (instance.replica >= 0) text += ", replica " + std::to_string(instance.replica);
    text += ": " + (info.op == Op::kernel ? "kernel " + info.kernel : to_string(info.op));
    if (!info.layer.empty()) text += " of " + printable(info.layer);
    text +=
        " " + operands(instance.inputs, instance.source_offset) + " -> " + operands(instance.outputs, instance.target_offset);
    return text + properties(instance);
  }

  std::string properties(const Instance& instance) const {
    std::string text;
    const auto add = [&](const std::string& property) { text += ", " + property; };
    if (!instance.implementation.empty()) add("by " + instance.implementation);
    for (const auto& [input, output] : instance.in_place)
      add("input " + std::to_string(input) + " may become output " + std::to_string(output));
    if (instance.scratch_bytes) add("scratch " + number(instance.scratch_bytes));
    if (instance.kind == Instance::copy) add(shape_of(instance.copy_shape));
    for (const CopyPart& part : instance.parts) add(number(part.bytes) + " bytes to + " + number(part.offset));
    if (instance.placeable) add("placeable");
    if (instance.elided) add("left out");
    if (instance.can_fail) add("may fail");
    if (instance.early) add("early");
    if (instance.commits) add("commits");
    if (instance.collective >= 0) add("collective " + std::to_string(instance.collective));
    if (!instance.after.empty()) add("after " + list_of(instance.after));
    for (const WaitFor& wait : instance.waits)
      add((wait.decides ? "decided by #" : "waits for #") + std::to_string(wait.instance));
    return text;
  }

  static std::string shape_of(const CopyShape& shape) {
    if (shape.rows == 1) return number(shape.row_bytes) + " bytes";
    return number(shape.rows) + " rows of " + number(shape.row_bytes) + " bytes, " + number(shape.source_pitch) + " to " +
           number(shape.target_pitch) + " apart";
  }

  void add_lane(size_t lane) {
    std::string row = "lane " + devices_.name(static_cast<int>(lane));
    if (memory_) row += ", arena of " + number(memory_->lanes[lane].bytes) + " bytes";
    row += ":";
    const auto& order = graph_.lane_order[lane];
    for (size_t first = 0, end = 0; first < order.size(); first = end) {
      end = first + 1;
      while (end < order.size() && order[end] == order[end - 1] + 1) ++end;
      std::string run = " #" + std::to_string(order[first]);
      if (end - first > 1) run += "-#" + std::to_string(order[end - 1]);
      if (row.size() + run.size() > kColumns) {
        line(row);
        row = " ";
      }
      row += run;
    }
    line(row);
  }

  const Graph& graph_;
  const Program& program_;
  const DeviceSet& devices_;
  const MemoryPlan* memory_;
  const std::vector<OperationInfo> operations_;
  std::string text_;
};

}  // namespace

std::string print(const Graph& graph, const Program& program, const DeviceSet& devices, const MemoryPlan* memory) {
  return Printer(graph, program, devices, memory).print();
}

}  // namespace sheaf
