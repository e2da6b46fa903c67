#include "runtime/bind/print.h"

#include "runtime/base/printable.h"
#include "runtime/bind/operation_info.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

constexpr size_t kColumns = 120;

std::string number(size_t n) { return std::to_string(n); }
std::string name_of(TensorId id) { return "%" + to_string(id); }
std::string name_of(InstanceId id) { return "#" + to_string(id); }

std::string type_of(const TensorSpec& spec) {
  std::string text = std::string(name_of(spec.dtype)) + "[";
  for (size_t i = 0; i < spec.dims.size(); ++i) text += (i ? "," : "") + std::to_string(spec.dims[i]);
  return text + "]" + (spec.plain() ? "" : " as " + spec.format->name());
}

template <typename Id>
std::string list_of(const std::vector<Id>& ids) {
  std::string text;
  for (Id id : ids) text += (text.empty() ? "" : ", ") + name_of(id);
  return text;
}

std::string shape_of(const CopyShape& shape) {
  if (shape.rows == 1) return number(shape.row_bytes) + " bytes";
  return number(shape.rows) + " rows of " + number(shape.row_bytes) + " bytes, " + number(shape.source_pitch) + " to " +
         number(shape.target_pitch) + " apart";
}

class Printer {
 public:
  Printer(const BoundProgram& bound, const Program& program, const DeviceSet& devices, const PlannedBinding* planned)
      : bound_(bound),
        program_(program),
        devices_(devices),
        planned_(planned),
        operations_(describe_operations(bound, program, devices)) {}

  std::string print() {
    for (TensorId t : bound_.tensors.ids()) line(tensor(t));
    text_ += '\n';
    for (InstanceId i : bound_.instances.ids()) line(instance(i));
    text_ += '\n';
    for (size_t i = 0; i < bound_.outputs.size(); ++i) {
      const std::string name = i < program_.outputs.size() ? ": " + printable(program_.outputs[i].name) : "";
      line("output " + number(i) + name + " is " + name_of(bound_.outputs[i]));
    }
    for (const BoundProgram::Update& update : bound_.updates)
      line("update " + name_of(update.variable) + " to " + name_of(update.value));
    if (planned_)
      for (LaneId lane : shown_lanes(planned_->schedule, devices_)) add_lane(lane);
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  std::string place_of(const Tensor& tensor, TensorId id) const {
    if (const auto* view = tensor.lies<Tensor::View>())
      return "at " + name_of(view->of) + (view->offset ? " + " + number(view->offset) : "");
    if (const auto* given = tensor.lies<Tensor::Given>()) return "input " + std::to_string(given->input);
    if (const auto* wanted = tensor.lies<Tensor::Wanted>()) return "output " + std::to_string(wanted->output);
    if (const auto* stored = tensor.lies<Tensor::Stored>())
      return (stored->variable ? "variable " : "constant ") + to_string(stored->node);
    const std::string arena = planned_ ? "arena + " + number(planned_->memory.root_offsets[id]) : "arena";
    return arena + (tensor.twin ? ", in turns with " + name_of(tensor.twin) : "");
  }

  std::string tensor(TensorId id) const {
    const Tensor& tensor = bound_.tensors[id];
    return name_of(id) + " " + printable(tensor.name) + ": " + type_of(tensor.spec) + " on " + devices_.name(tensor.lane) +
           ", " + place_of(tensor, id) + (tensor.writers.empty() ? "" : ", made by " + list_of(tensor.writers));
  }

  std::string instance(InstanceId id) const {
    const Instance& instance = bound_.instances[id];
    const OperationInfo& info = operations_[id.index()];
    const auto* copy = instance.is<Instance::Copy>();
    const auto operands = [](const std::vector<TensorId>& tensors, size_t offset) {
      return "(" + list_of(tensors) + (offset ? " + " + number(offset) : "") + ")";
    };
    std::string text = name_of(id) + " on " + devices_.name(instance.lane);
    if (instance.replica >= 0) text += ", replica " + std::to_string(instance.replica);
    text += ": " + (instance.is<Instance::KernelCall>() ? "kernel " + info.kernel : to_string(info.op));
    if (!info.layer.empty()) text += " of " + printable(info.layer);
    text += " " + operands(instance.inputs, copy ? copy->source_offset : 0) + " -> " +
            operands(instance.outputs, copy ? copy->target_offset : 0);
    for (const std::string& property : properties(instance)) text += ", " + property;
    if (planned_)
      for (const WaitFor& wait : planned_->schedule.instances[id].waits)
        text += (wait.decides ? ", decided by " : ", waits for ") + name_of(wait.instance);
    return text;
  }

  static std::vector<std::string> properties(const Instance& instance) {
    std::vector<std::string> found;
    if (const Instance::Call* call = instance.call()) {
      if (!call->implementation.empty()) found.push_back("by " + call->implementation);
      for (const auto& [input, output] : call->in_place)
        found.push_back("input " + std::to_string(input) + " may become output " + std::to_string(output));
      if (call->scratch_bytes) found.push_back("scratch " + number(call->scratch_bytes));
    }
    if (const auto* copy = instance.is<Instance::Copy>()) {
      found.push_back(shape_of(copy->shape));
      if (copy->placeable) found.push_back("placeable");
      if (copy->left_out) found.push_back("left out");
      if (copy->ahead) found.push_back("ahead");
    }
    if (const auto* send = instance.is<Instance::Send>()) found.push_back("to rank " + std::to_string(send->to));
    if (const auto* receive = instance.is<Instance::Receive>()) found.push_back("from rank " + std::to_string(receive->from));
    if (const auto* fetch = instance.is<Instance::Fetch>())
      for (const CopyPart& part : fetch->parts) found.push_back(number(part.bytes) + " bytes to + " + number(part.offset));
    if (instance.can_fail()) found.push_back("may fail");
    if (instance.early) found.push_back("early");
    if (instance.commits) found.push_back("commits");
    if (instance.collective >= 0) found.push_back("collective " + std::to_string(instance.collective));
    if (!instance.after.empty()) found.push_back("after " + list_of(instance.after));
    return found;
  }

  void add_lane(LaneId lane) {
    std::string row = "lane " + devices_.name(lane) + ", arena of " + number(planned_->memory.lanes[lane].bytes) + " bytes:";
    const auto& order = planned_->schedule.lanes[lane];
    for (size_t first = 0, end = 0; first < order.size(); first = end) {
      end = first + 1;
      while (end < order.size() && order[end].index() == order[end - 1].index() + 1) ++end;
      std::string run = " " + name_of(order[first]);
      if (end - first > 1) run += "-" + name_of(order[end - 1]);
      if (row.size() + run.size() > kColumns) {
        line(row);
        row = " ";
      }
      row += run;
    }
    line(row);
  }

  const BoundProgram& bound_;
  const Program& program_;
  const DeviceSet& devices_;
  const PlannedBinding* planned_;  ///< null: lanes have no order yet
  const std::vector<OperationInfo> operations_;
  std::string text_;
};

}  // namespace

std::string print(const BoundProgram& bound, const Program& program, const DeviceSet& devices) {
  return Printer(bound, program, devices, nullptr).print();
}

std::string print(const PlannedBinding& planned, const Program& program, const DeviceSet& devices) {
  return Printer(planned.program, program, devices, &planned).print();
}

}  // namespace sheaf
