#include "codegen/plan/program_builder.h"

#include "runtime/base/extent_product.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"
#include "codegen/plan/collective_order.h"
#include "codegen/plan/element_chain.h"
#include "codegen/plan/purposes.h"
#include "ir/Analysis/GradientAnalysis.h"
#include "ir/Dist/Dist.h"
#include "ir/Nn/Nn.h"
#include "ir/Nn/Phase.h"
#include "runtime/plan/names.h"

#include <set>

using namespace mlir;

namespace sheaf::codegen {
namespace {

/// The layers in a location, each once and in order.
std::vector<std::string> layers_in(mlir::Location loc) {
  std::vector<std::string> layers;
  loc->walk([&](mlir::Location part) {
    if (auto name = dyn_cast<NameLoc>(part))
      if (!llvm::is_contained(layers, name.getName().str())) layers.push_back(name.getName().str());
    return WalkResult::advance();
  });
  return layers;
}

sheaf::Location location_of(Operation& op) {
  FileLineColLoc position = nn::position_of(op.getLoc());
  if (!position) return {};
  return {position.getFilename().str(), static_cast<int>(position.getLine()), static_cast<int>(position.getColumn())};
}

}  // namespace

DType dtype_of(mlir::Type element) {
  if (element.isF16()) return DType::float16;
  if (element.isBF16()) return DType::bfloat16;
  if (element.isInteger(64)) return DType::int64;
  if (element.isInteger(32)) return DType::int32;
  if (element.isInteger(8)) return DType::uint8;
  if (element.isInteger(1)) return DType::boolean;
  return DType::float32;
}

std::vector<Region> regions_of(ModuleOp module) {
  std::vector<Region> regions;
  for (auto group : module.getOps<dist::GroupOp>()) {
    Region region;
    region.name = group.getLayer().str();
    if (auto ids = group.getDeviceIds()) region.device_ids.emplace(ids->begin(), ids->end());
    // The host is not in the device list; the gather itself says that its result goes there.
    if (auto device = group.getOutputDevice(); device && static_cast<int64_t>(*device) >= 0)
      region.output_device = static_cast<int>(*device);
    region.dim = static_cast<int>(group.getDim());
    region.location = location_of(*group);
    regions.push_back(std::move(region));
  }
  return regions;
}

Place ProgramBuilder::place_of(Attribute layout) const {
  if (auto device = dyn_cast<dist::DeviceAttr>(layout)) return {Place::device, static_cast<int>(device.getIndex())};
  if (auto group = dist::group_of(layout)) return {Place::region, ir::group_index(function_, group.getValue())};
  return {Place::host, 0};
}

std::string ProgramBuilder::unique(const std::string& name) {
  std::string candidate = name;
  // Continues after the last number used with this name.
  for (int& number = last_numbers_[name]; !names_.insert(candidate).second;) candidate = name + "#" + std::to_string(++number);
  return candidate;
}

int ProgramBuilder::new_value(std::string name, DType dtype, std::vector<Extent> shape, const Place& place) {
  sheaf::Value value;
  value.name = unique(name);
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.place = place;
  program_.values.push_back(std::move(value));
  return static_cast<int>(program_.values.size()) - 1;
}

int ProgramBuilder::new_value(mlir::Value value, const Place& place) {
  std::string name = nn::layer_of(value.getLoc()).str();
  // The optimiser's ops belong to no layer.
  if (Operation* op = value.getDefiningOp(); op && name.empty()) name = op->getName().stripDialect().str();
  if (auto result = dyn_cast<OpResult>(value); result && result.getResultNumber() > 0)
    name += ":" + std::to_string(result.getResultNumber());
  const ir::TensorShape& shape = shapes_.of(value);
  int id = new_value(name, dtype_of(shape.element), {shape.dims.begin(), shape.dims.end()}, place);
  program_.values[id].layout = layouts_->of(value);
  if (gradients_.contains(value)) program_.values[id].purpose = sheaf::Value::Purpose::gradients;
  ids_[value] = id;
  return id;
}

Step ProgramBuilder::step_for(Operation& op, const Place& place) {
  Step step;
  step.place = place;
  std::vector<std::string> layers = layers_in(op.getLoc());
  step.location = location_of(op);
  if (!layers.empty()) step.layer = layers.front();
  step.fused.assign(layers.begin() + (layers.empty() ? 0 : 1), layers.end());
  if (auto reason = op.getAttrOfType<StringAttr>("reason")) step.reason = reason.getValue().str();
  if (auto reason = op.getAttrOfType<StringAttr>(nn::kReason)) step.reason = reason.getValue().str();
  if (auto notes = op.getAttrOfType<ArrayAttr>(nn::kNotes))
    for (Attribute note : notes) step.notes.push_back(cast<StringAttr>(note).str());
  step.phase = nn::phase_of(op.getLoc());
  step.once = op.getNumResults() > 0 && llvm::all_of(op.getResults(), [&](mlir::Value result) {
                return ir::depends_on_parameters_alone(result, parameters_alone_);
              });
  return step;
}

void ProgramBuilder::add(Step step) {
  // Values whose size depends on a length aren't kept with the weights: there would be one for every number.
  const auto has_length = [&](const Extent& size) {
    const std::vector<std::string> symbols = symbols_in(size);
    return llvm::any_of(shapes_.symbols(), [&](const sheaf::Symbol& symbol) {
      return symbol.kind == sheaf::Symbol::length && llvm::is_contained(symbols, symbol.name);
    });
  };
  const auto is_open = [&](int id) { return llvm::any_of(value(id).shape, has_length); };
  const auto varies = [&](int id) {
    const auto maker = makers_.find(id);
    return maker != makers_.end() && !program_.steps[maker->second].once;
  };
  step.once = step.once && llvm::none_of(step.outputs, is_open) && llvm::none_of(step.inputs, varies);
  for (int output : step.outputs) makers_[output] = program_.steps.size();
  program_.steps.push_back(std::move(step));
}

std::optional<DType> ProgramBuilder::summed_from(int value) const {
  const auto maker = makers_.find(value);
  if (maker == makers_.end() || this->value(value).dtype != DType::float32) return std::nullopt;
  const Step& step = program_.steps[maker->second];
  if (step.op == Op::reduce) return summed_from(step.inputs[0]);
  if (!is_library(step.op) || traits(step.op).pass != Pass::backward) return std::nullopt;
  const DType dtype = this->value(step.inputs[0]).dtype;
  return dtype == DType::bfloat16 || dtype == DType::float16 ? std::optional(dtype) : std::nullopt;
}

const Step* ProgramBuilder::find_same(const Step& kernel) const {
  const auto same = [&](const Step& step) {
    return step.op == Op::kernel && step.kernel == kernel.kernel && step.place == kernel.place &&
           step.inputs == kernel.inputs && step.phase == kernel.phase &&
           step.attributes.at("extents") == kernel.attributes.at("extents") &&
           step.attributes.at("work") == kernel.attributes.at("work") &&
           step.attributes.value("least", 0) == kernel.attributes.value("least", 0);
  };
  const auto found = std::find_if(program_.steps.begin(), program_.steps.end(), same);
  return found == program_.steps.end() ? nullptr : &*found;
}

void ProgramBuilder::add_arguments() {
  for (BlockArgument argument : function_.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto placed = cast<dist::PlacedType>(argument.getType());
    StringRef role = function_.getArgAttrOfType<StringAttr>(index, nn::kRole).getValue();
    std::string name = function_.getArgAttrOfType<StringAttr>(index, nn::kName).str();
    const ir::TensorShape& shape = shapes_.of(argument);
    int id = new_value(name, dtype_of(shape.element), {shape.dims.begin(), shape.dims.end()}, place_of(placed.getLayout()));
    sheaf::Value& value = program_.values[id];
    const bool accumulates = role == "accumulator";
    value.role = accumulates ? sheaf::Value::state : *value_role_from_name(role);
    value.layout = layouts_->of(argument);
    if (value.role != sheaf::Value::setting) value.source = name;
    if (accumulates) accumulators_.insert(name);
    ids_[argument] = id;
  }
}

void ProgramBuilder::add_movement(Operation& op) {
  auto from = cast<dist::PlacedType>(op.getOperand(0).getType()), to = cast<dist::PlacedType>(op.getResult(0).getType());
  Place place = place_of(to.getLayout());
  Step step = step_for(op, place);
  step.op = *dist::movement_of(op);
  step.inputs = {id(op.getOperand(0))};
  step.roles = {"x"};
  const ir::TensorShape& shape = shapes_.of(op.getResult(0));
  // "x@net", "block1@host": the same value in another place.
  std::string name = program_.values[step.inputs[0]].name + "@" +
                     (place.kind == Place::region ? to_string(place) : dist::in_words(to.getLayout()));
  int output = new_value(name, dtype_of(shape.element), {shape.dims.begin(), shape.dims.end()}, place);
  program_.values[output].layout = layouts_->of(op.getResult(0));
  if (gradients_.contains(op.getResult(0))) program_.values[output].purpose = sheaf::Value::Purpose::gradients;
  ids_[op.getResult(0)] = output;
  step.outputs = {output};
  for (dist::PlacedType end : {from, to}) {  // the region that it enters or leaves
    FlatSymbolRefAttr group = dist::group_of(end.getLayout());
    if (!group) continue;
    auto split = dyn_cast<dist::SplitAttr>(end.getLayout());
    if (split) step.attributes["dim"] = split.getDim();
    step.attributes["region"] = ir::group_index(&op, group.getValue());
    // A vector's elements are 0-dimensional values.
    if (split && end.getTensor().getRank() == 0) step.attributes["scalar"] = true;
  }
  add(std::move(step));
}

Result<void> ProgramBuilder::visit_apply(Operation& op, const Place& place) {
  Block& body = op.getRegion(0).front();
  for (auto [input, argument] : llvm::zip(op.getOperands(), body.getArguments())) ids_[argument] = id(input);
  for (Operation& inner : body.without_terminator())
    if (auto done = source_.add_steps(*this, inner, place); !done) return done;
  for (auto [result, value] : llvm::zip(op.getResults(), body.getTerminator()->getOperands())) ids_[result] = id(value);
  return {};
}

Result<void> ProgramBuilder::visit(Operation& op) {
  if (auto apply = dyn_cast<dist::ApplyOp>(op)) return visit_apply(op, place_of(apply.getPlace()));
  if (auto apply = dyn_cast<dist::ParallelApplyOp>(op))
    return visit_apply(op, {Place::region, ir::group_index(&op, apply.getGroup())});
  if (dist::movement_of(op)) {
    add_movement(op);
    return {};
  }
  return Error("internal error: '" + op.getName().getStringRef().str() + "' is no op of a dist program");
}

void ProgramBuilder::add_offsets() {
  std::set<std::string> used;  // symbols in kernels' extents
  for (const Step& step : program_.steps) {
    if (!step.attributes.contains("extents")) continue;
    for (const Json& text : step.attributes["extents"])
      if (auto extent = parse_extent(text.get<std::string>()))
        for (const std::string& name : symbols_in(*extent)) used.insert(name);
  }
  for (const sheaf::Symbol& symbol : shapes_.symbols()) {
    if (symbol.kind != sheaf::Symbol::chunk) continue;
    if (sheaf::Symbol offset = offset_symbol(symbol); used.count(offset.name)) program_.symbols.push_back(offset);
  }
}

Result<Program> ProgramBuilder::build() {
  if (failed(shapes_.run(function_))) return Error("the sizes of the partitioned program cannot be expressed");
  program_.symbols = shapes_.symbols();
  layouts_.emplace(function_, shapes_);
  gradients_ = ir::parameter_gradients(function_);
  add_arguments();
  Block& block = function_.getBody().front();
  for (Operation& op : block.without_terminator()) SHEAF_TRY(visit(op));
  add_offsets();
  auto names = function_->getAttrOfType<ArrayAttr>(nn::kOutputs);
  for (auto [name, value] : llvm::zip(names, block.getTerminator()->getOperands()))
    program_.outputs.push_back({cast<StringAttr>(name).str(), id(value)});
  if (auto updated = function_->getAttrOfType<ArrayAttr>(nn::kUpdates))
    for (auto [name, value] : llvm::zip(updated, block.getTerminator()->getOperands().drop_front(names.size())))
      program_.updates.push_back({cast<StringAttr>(name).str(), id(value)});
  place_collectives(program_);
  add_purposes(program_, accumulators_);
  return std::move(program_);
}

}  // namespace sheaf::codegen
