#include "runtime/check/check_program.h"

#include "runtime/base/extent_product.h"
#include "runtime/base/printable.h"
#include "runtime/check/check_training.h"
#include "runtime/check/step_check.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace sheaf {

namespace {

constexpr size_t kMostSymbols = 1024;  // the order of symbols is checked pairwise
constexpr int kMostDevices = 1 << 16;

using Problem = std::optional<std::string>;

class ProgramCheck {
 public:
  ProgramCheck(const Plan& plan, const Program& program, bool graph)
      : plan_(plan), program_(program), scope_(plan, program), graph_(graph) {}

  Problem symbol(size_t i) {
    const Symbol& symbol = program_.symbols[i];
    const Result<Extent> spelled = parse_extent(symbol.name);
    if (!spelled || *spelled != Extent::symbol(symbol.name)) return in_quotes(symbol.name) + " can't name a symbol";
    if (!names_.insert(symbol.name).second) return "a second symbol '" + symbol.name + "'";
    if ((symbol.kind == Symbol::batch) != (i == 0)) return "the first symbol, and no other, is the batch";
    if (i == 0) return symbol.name == "batch" ? Problem() : "the batch must be called 'batch'";
    if (symbol.region < 0 || static_cast<size_t>(symbol.region) >= plan_.regions.size()) return "there is no such region";
    if (symbol.kind == Symbol::replicas)
      return counted_.insert(symbol.region).second ? Problem() : "a second count of this region's replicas";
    // Only earlier symbols, so that they can be evaluated in order; a chunk is never of a chunk.
    for (const std::string& name : symbols_in(symbol.of)) {
      const auto known = std::find_if(program_.symbols.begin(), program_.symbols.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const Symbol& other) { return other.name == name; });
      if (known == program_.symbols.begin() + static_cast<std::ptrdiff_t>(i)) return "'" + name + "' isn't an earlier symbol";
      if (known->kind == Symbol::replicas && known->region == symbol.region)
        return "the number of a region's replicas can't determine its chunks";
      if (known->kind == Symbol::replicas) {
        for (size_t later = i; later < program_.symbols.size(); ++later)
          if (program_.symbols[later].kind == Symbol::chunk && program_.symbols[later].region == known->region)
            return "'" + name + "' depends on a later symbol";
      }
    }
    if (Problem problem = problem_of(symbol.of, scope_, Place{})) return problem;
    if (symbol.kind != Symbol::offset) return Problem();
    // Where the chunks of a replica begin: there must be such chunks.
    const bool split = std::any_of(program_.symbols.begin(), program_.symbols.end(), [&](const Symbol& other) {
      return other.kind == Symbol::chunk && other.region == symbol.region && other.of == symbol.of;
    });
    return split ? Problem() : "no chunks of " + to_string(symbol.of) + " in this region that it could be the offset of";
  }

  Problem value(size_t i) {
    const Value& value = program_.values[i];
    if (value.name.empty()) return "a value needs a name";
    if (!names_.insert(value.name).second) return "a second value " + in_quotes(value.name);
    if (Problem problem = place(value.place)) return problem;
    if (value.shape.size() > kLargestRank) return "more than " + std::to_string(kLargestRank) + " dimensions";
    bool is_static = true;
    int64_t bytes = static_cast<int64_t>(size_of(value.dtype));
    for (const Extent& extent : value.shape) {
      if (Problem problem = problem_of(extent, scope_, value.place)) return problem;
      for (const std::string& name : symbols_in(extent))
        if (scope_.symbols.at(name)->kind == Symbol::offset) return "an offset, '" + name + "', is no size";
      is_static = is_static && extent.is_static();
      const int64_t factor = extent.is_static() ? std::max<int64_t>(extent.constant, 1) : 1;
      if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes >= kLargestBytes) return "the value is too large";
    }
    if (Problem problem = layout(value)) return problem;
    if (value.role == Value::temporary) return Problem();
    made_[i] = true;
    constant_[i] = value.role == Value::parameter || value.role == Value::buffer;
    const bool state = value.role == Value::state;
    const bool kept = replicated(value) || (in_shares(value) && value.role != Value::buffer);
    if (value.place.kind == Place::region && !(trains() && (constant_[i] || state) && kept))
      return "only what steps make lives in a region, and what a training program has on each replica alike or in shares";
    if (!trains() && (state || value.role == Value::setting)) return "only a training program has settings and optimiser state";
    if (value.role == Value::setting) return problem_of_setting(value, scope_.plan);
    if (!constant_[i] && !state) return Problem();
    const auto& known = state ? scope_.state : scope_.parameters;
    const auto found = known.find(value.source);
    if (found == known.end())
      return std::string("there is no ") + (state ? "state" : "parameter") + " " + in_quotes(value.source);
    const Parameter& parameter = *found->second;
    if (parameter.buffer != (value.role == Value::buffer)) return "'" + value.source + "' has another role";
    if (parameter.dtype != value.dtype || !is_static || value.shape != Shape(parameter.shape.begin(), parameter.shape.end()))
      return "'" + value.source + "' has another dtype or shape than the value";
    return Problem();
  }

  /// What is the same on each replica is made of what is: binding makes it once in a memory.
  Problem unlike(const Step& step, const Value& result) const {
    for (const int input : step.inputs) {
      const Value& value = program_.values[static_cast<size_t>(input)];
      if (!replicated(value))
        return "'" + result.name + "' would be the same on each replica, but '" + value.name + "', of which it is made, isn't";
    }
    return Problem();
  }

  /// What is made of shares is made element by element, of them and of scalars that are the same on each replica (a program that
  /// runs says that its kernel does so); or it is a sum over shares alone, of which each replica has a summand.
  Problem shares(const Step& step) const {
    const auto value = [&](int id) -> const Value& { return program_.values[static_cast<size_t>(id)]; };
    const auto share = [&](int id) { return in_shares(value(id)); };
    const auto first = std::find_if(step.outputs.begin(), step.outputs.end(), share);
    const auto read = std::find_if(step.inputs.begin(), step.inputs.end(), share);
    if (first == step.outputs.end() && read == step.inputs.end()) return Problem();
    if (std::all_of(step.inputs.begin(), step.inputs.end(), share) &&
        std::all_of(step.outputs.begin(), step.outputs.end(), [&](int output) { return summand(value(output)); }))
      return graph_ || traits(step.op).adds_parts ? Problem()
                                                  : "'" + op_name(step) + "' is of shares, but isn't a sum over its operands";
    if (first == step.outputs.end() || read == step.inputs.end() ||
        !std::all_of(step.outputs.begin(), step.outputs.end(), share))
      return "'" + op_name(step) + "' is of shares, so all that it gives must be, and something that it takes";
    const Shape& shape = value(*first).shape;
    for (const auto* operands : {&step.inputs, &step.outputs}) {
      for (const int operand : *operands) {
        const bool fits =
            share(operand) ? value(operand).shape == shape : replicated(value(operand)) && value(operand).shape.empty();
        if (!fits)
          return "'" + value(operand).name + "' is neither a share of the same shape nor a scalar that all replicas have";
      }
    }
    if (graph_) return Problem();
    const auto kernel = scope_.kernels.find(step.kernel);
    const bool elementwise = step.op == Op::kernel && kernel != scope_.kernels.end() && kernel->second->elementwise;
    return elementwise ? Problem() : "'" + op_name(step) + "' is of shares, but doesn't go element by element";
  }

  static bool replicated(const Value& value) { return value.layout.kind == ValueLayout::replicated; }
  static bool summand(const Value& value) { return value.layout.kind == ValueLayout::partial && value.shape.empty(); }
  static bool in_shares(const Value& value) { return value.layout.kind == ValueLayout::sharded; }

  Problem layout(const Value& value) const {
    const ValueLayout& layout = value.layout;
    if (layout.kind == ValueLayout::whole) return Problem();
    if (value.place.kind != Place::region) return "only a value in a region has a layout";
    const auto known = [](const Extent& extent) { return extent.is_static(); };
    if (layout.kind == ValueLayout::sharded && !(trains() && std::all_of(value.shape.begin(), value.shape.end(), known)))
      return "only a training program has shares, of values whose size no run determines";
    if (layout.kind == ValueLayout::split && static_cast<size_t>(layout.dim) >= value.shape.size())
      return "there is no dimension " + std::to_string(layout.dim) + " that it could be split along";
    return Problem();
  }

  Problem step(size_t i) {
    const Step& step = program_.steps[i];
    if (op_name(step).empty()) return "a step needs an op";
    if (Problem problem = place(step.place)) return problem;
    if (step.roles.size() != step.inputs.size() && !(graph_ && step.roles.empty()))
      return "there are " + std::to_string(step.roles.size()) + " roles for " + std::to_string(step.inputs.size()) + " inputs";
    if (step.outputs.empty()) return "a step needs an output";
    for (const int input : step.inputs) {
      if (!in_range(input)) return "there is no value " + std::to_string(input);
      const Value& value = program_.values[static_cast<size_t>(input)];
      if (!made_[static_cast<size_t>(input)]) return "'" + value.name + "' is used before it is made";
      if (phase_[static_cast<size_t>(input)] > step.phase)
        return "'" + value.name + "' is made in a later phase of the step, " +
               std::string(name_of(phase_[static_cast<size_t>(input)]));
      if (!moves(step.op) && value.place != step.place)
        return "'" + value.name + "' is at " + to_string(value.place) + ", the step at " + to_string(step.place);
      if (step.once && !constant_[static_cast<size_t>(input)])
        return "runs once, but '" + value.name + "' depends on the run's inputs";
    }
    for (const int output : step.outputs) {
      if (!in_range(output)) return "there is no value " + std::to_string(output);
      const Value& value = program_.values[static_cast<size_t>(output)];
      if (made_[static_cast<size_t>(output)]) return "'" + value.name + "' is made a second time";
      if (value.place != step.place)
        return "'" + value.name + "' is at " + to_string(value.place) + ", the step at " + to_string(step.place);
      const bool is_static =
          std::all_of(value.shape.begin(), value.shape.end(), [](const Extent& dim) { return dim.is_static(); });
      if (step.once && !is_static) return "runs once, but the size of '" + value.name + "' depends on the run";
      if (!moves(step.op) && replicated(value))
        if (Problem problem = unlike(step, value)) return problem;
      made_[static_cast<size_t>(output)] = true;
      phase_[static_cast<size_t>(output)] = step.phase;
      constant_[static_cast<size_t>(output)] = step.once;
    }
    if (!moves(step.op))
      if (Problem problem = shares(step)) return problem;
    StepCheck check(scope_, step);
    if (moves(step.op) || !graph_) check_operation(check);
    return check.problem();
  }

  Problem output(size_t i) {
    const Output& output = program_.outputs[i];
    if (output.name.empty() || !names_.insert(output.name).second) return "an output needs a name of its own";
    if (!in_range(output.value)) return "there is no value " + std::to_string(output.value);
    if (program_.values[static_cast<size_t>(output.value)].place.kind == Place::region)
      return "an output of the program can't live in a region";
    return Problem();
  }

  Problem update(size_t i) {
    const Update& update = program_.updates[i];
    if (!names_.insert(update.name).second) return "a second update of " + in_quotes(update.name);
    if (!in_range(update.value)) return "there is no value " + std::to_string(update.value);
    return problem_of_update(update, scope_);
  }

  /// Runs `each` over a list of the program; the names within it must differ.
  Result<void> list(size_t size, Problem (ProgramCheck::*each)(size_t), const std::string& file, const std::string& path) {
    names_.clear();
    for (size_t i = 0; i < size; ++i)
      if (Problem problem = (this->*each)(i)) return Error({file, 0, 0}, path + "[" + std::to_string(i) + "]: " + *problem);
    return {};
  }

  /// The first value that nothing makes.
  std::optional<size_t> unmade() const {
    for (size_t i = 0; i < made_.size(); ++i)
      if (!made_[i]) return i;
    return std::nullopt;
  }

 private:
  bool in_range(int value) const { return value >= 0 && static_cast<size_t>(value) < program_.values.size(); }

  bool trains() const { return &program_ != &plan_.infer && &program_ != &plan_.infer_graph; }

  Problem place(const Place& place) const {
    if (place.index < 0) return "a negative index of a place";
    if (place.kind == Place::device && place.index >= kMostDevices) return "no device list is that long";
    if (place.kind == Place::region && static_cast<size_t>(place.index) >= plan_.regions.size())
      return "there is no region " + std::to_string(place.index);
    return Problem();
  }

  const Plan& plan_;
  const Program& program_;
  const CheckScope scope_;
  const bool graph_;
  std::unordered_set<std::string> names_;
  std::unordered_set<int> counted_;  ///< regions that have a `replicas` symbol
  std::vector<bool> made_ = std::vector<bool>(program_.values.size(), false);
  std::vector<bool> constant_ = std::vector<bool>(program_.values.size(), false);  ///< depends only on parameters
  std::vector<Phase> phase_ = std::vector<Phase>(program_.values.size(), Phase::forward);
};

}  // namespace

Result<void> check_program(const Plan& plan, const Program& program, bool graph, const std::string& file,
                           const std::string& path) {
  const auto refuse = [&](const std::string& message) { return Error({file, 0, 0}, path + message); };
  const size_t symbols = program.symbols.size();
  if (symbols == 0 || symbols > kMostSymbols)
    return refuse(".symbols: expected 1 to " + std::to_string(kMostSymbols) + " symbols, the first of them the batch");
  if (program.outputs.empty()) return refuse(".outputs: a program needs an output");

  ProgramCheck check(plan, program, graph);
  SHEAF_TRY(check.list(symbols, &ProgramCheck::symbol, file, path + ".symbols"));
  SHEAF_TRY(check.list(program.values.size(), &ProgramCheck::value, file, path + ".values"));
  SHEAF_TRY(check.list(program.steps.size(), &ProgramCheck::step, file, path + ".steps"));
  if (const auto value = check.unmade())
    return refuse(".values[" + std::to_string(*value) + "]: no step makes '" + program.values[*value].name + "'");
  SHEAF_TRY(check.list(program.outputs.size(), &ProgramCheck::output, file, path + ".outputs"));
  return check.list(program.updates.size(), &ProgramCheck::update, file, path + ".updates");
}

}  // namespace sheaf
