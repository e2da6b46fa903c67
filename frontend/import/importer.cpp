#include "frontend/import/importer.h"

#include "frontend/declarations.h"
#include "frontend/layer_table.h"
#include "ir/Nn/Checkpoint.h"
#include "ir/Nn/Lengths.h"

using namespace mlir;

namespace sheaf {

ImportedModel import_model(const frontend::Model& model, MLIRContext& context, Purpose purpose) {
  context.loadDialect<nn::NnDialect, func::FuncDialect>();
  return import::Importer(model, context, purpose).run();
}

namespace import {
namespace {

/// Applies rules in order: the last one that names the layer's type and the parameter wins.
const Json* rule_for(const std::vector<frontend::InitRule>& rules, const std::string& type, const std::string& own_name) {
  const Json* found = nullptr;
  for (const frontend::InitRule& rule : rules) {
    auto distribution = rule.distributions.find(own_name);
    if (distribution != rule.distributions.end() && llvm::is_contained(rule.types, type)) found = &distribution->second;
  }
  return found;
}

/// Arguments of an optimiser or loss, as MLIR attributes.
mlir::Attribute attribute_of(Builder& builder, const Json& json) {
  if (json.is_boolean()) return builder.getBoolAttr(json.get<bool>());
  if (json.is_number_integer()) return builder.getI64IntegerAttr(json.get<int64_t>());
  if (json.is_number()) return builder.getF64FloatAttr(json.get<double>());
  if (json.is_string()) return builder.getStringAttr(json.get<std::string>());
  if (json.is_array()) {
    SmallVector<mlir::Attribute> items;
    for (const Json& item : json) items.push_back(attribute_of(builder, item));
    return builder.getArrayAttr(items);
  }
  SmallVector<NamedAttribute> entries;
  for (const auto& [name, value] : json.items())
    if (!value.is_null()) entries.push_back(builder.getNamedAttr(name, attribute_of(builder, value)));
  return builder.getDictionaryAttr(entries);
}

}  // namespace

mlir::Type Importer::element_type(DType dtype) {
  switch (dtype) {
    case DType::float32: return builder_.getF32Type();
    case DType::float16: return builder_.getF16Type();
    case DType::bfloat16: return builder_.getBF16Type();
    case DType::int64: return builder_.getI64Type();
    case DType::int32: return builder_.getI32Type();
    case DType::uint8: return builder_.getIntegerType(8, /*isSigned=*/false);
    case DType::boolean: return builder_.getI1Type();
  }
  llvm_unreachable("a dtype that is none");
}

mlir::Location Importer::location(const Layer& layer, StringRef path) {
  MLIRContext* context = builder_.getContext();
  auto position = FileLineColLoc::get(context, model_.file, layer.location.line, layer.location.column);
  return nn::in_checkpoints(NameLoc::get(StringAttr::get(context, path), position), checkpoints_);
}

ImportedModel Importer::run() {
  mlir::Location unknown = FileLineColLoc::get(builder_.getContext(), model_.file, 1, 1);
  OwningOpRef<ModuleOp> module = ModuleOp::create(unknown, model_.name);
  builder_.setInsertionPointToEnd(module->getBody());
  const bool step = purpose_ == Purpose::training;
  const char* name = step ? "train" : training() ? "forward" : "infer";
  function_ = builder_.create<func::FuncOp>(unknown, name, builder_.getFunctionType({}, {}));
  Block* block = function_.addEntryBlock();
  builder_.setInsertionPointToEnd(block);

  std::vector<mlir::Value> inputs = declare_inputs(model_.inputs, "input"), targets;
  if (step) targets = declare_inputs(model_.training->targets, "target");
  declare_parameters(model_.graph);
  for (const Parameter& parameter : parameters_)
    describe(parameter.buffer ? "buffer" : "parameter", parameter.name, parameter.constant);

  std::vector<mlir::Value> outputs = import_graph(model_.graph, inputs);
  SmallVector<StringRef> names(model_.graph.output_names.begin(), model_.graph.output_names.end());
  if (step) {
    outputs = {import_loss(inputs, outputs, targets)};
    names = {"loss"};
    function_->setAttr(nn::kOptimizer, attribute_of(builder_, model_.training->optimizer));
    if (model_.training->clip_grad_norm)
      function_->setAttr(nn::kClipNorm, builder_.getF64FloatAttr(*model_.training->clip_grad_norm));
  }
  builder_.create<func::ReturnOp>(unknown, outputs);
  SmallVector<mlir::Type> types;
  for (mlir::Value output : outputs) types.push_back(output.getType());
  function_.setType(builder_.getFunctionType(block->getArgumentTypes(), types));
  function_.setAllArgAttrs(argument_attributes_);
  function_->setAttr(nn::kOutputs, builder_.getStrArrayAttr(names));
  return {std::move(module), std::move(parameters_)};
}

void Importer::describe(StringRef role, StringRef name, bool constant) {
  SmallVector<NamedAttribute> attributes = {builder_.getNamedAttr(nn::kRole, builder_.getStringAttr(role)),
                                            builder_.getNamedAttr(nn::kName, builder_.getStringAttr(name))};
  if (constant) attributes.push_back(builder_.getNamedAttr(nn::kConstant, builder_.getUnitAttr()));
  argument_attributes_.push_back(builder_.getDictionaryAttr(attributes));
}

/// Adds to the last argument's attributes.
void Importer::state_sizes(const frontend::InputDecl& input) {
  SmallVector<mlir::Attribute> sizes;
  for (const Extent& size : input.shape) sizes.push_back(builder_.getStringAttr(to_string(size)));
  NamedAttrList attributes(argument_attributes_.back());
  attributes.set(nn::kExtents, builder_.getArrayAttr(sizes));
  argument_attributes_.back() = attributes.getDictionary(builder_.getContext());
  NamedAttrList lengths(function_->getAttrOfType<DictionaryAttr>(nn::kLengths));
  for (const std::string& length : frontend::lengths_in({input})) lengths.set(length, builder_.getI64IntegerAttr(0));
  function_->setAttr(nn::kLengths, lengths.getDictionary(builder_.getContext()));
}

std::vector<mlir::Value> Importer::declare_inputs(const std::vector<frontend::InputDecl>& inputs, StringRef role) {
  std::vector<mlir::Value> values;
  for (const frontend::InputDecl& input : inputs) {
    SmallVector<int64_t> shape;
    for (const Extent& size : input.shape) shape.push_back(size.is_static() ? size.constant : ShapedType::kDynamic);
    auto position = FileLineColLoc::get(builder_.getContext(), model_.file, input.location.line, input.location.column);
    values.push_back(
        function_.getBody().front().addArgument(RankedTensorType::get(shape, element_type(input.dtype)), position));
    describe(role, input.name);
    if (!frontend::lengths_in({input}).empty()) state_sizes(input);
  }
  return values;
}

mlir::Value Importer::import_loss(const std::vector<mlir::Value>& inputs, const std::vector<mlir::Value>& outputs,
                                  const std::vector<mlir::Value>& targets) {
  const frontend::Training& training = *model_.training;
  auto value_of = [&](const std::string& name) {
    for (auto [known, value] : llvm::zip(model_.graph.output_names, outputs))
      if (known == name) return value;
    for (auto [declared, value] : llvm::zip(training.targets, targets))
      if (declared.name == name) return value;
    for (auto [declared, value] : llvm::zip(model_.inputs, inputs))
      if (declared.name == name) return value;
    llvm_unreachable("the frontend has checked the loss's inputs");
  };
  auto position = FileLineColLoc::get(builder_.getContext(), model_.file, training.location.line, training.location.column);
  auto location = NameLoc::get(builder_.getStringAttr("loss"), position);
  std::vector<mlir::Value> taken;
  for (const std::string& name : training.loss_inputs) taken.push_back(value_of(name));
  auto loss =
      make<nn::LossOp>(location, builder_.getF32Type(), 1u, mlir::ValueRange(taken), builder_.getStringAttr(training.loss_type),
                       cast<DictionaryAttr>(attribute_of(builder_, training.loss_arguments)));
  loss->setAttr(nn::kType, builder_.getStringAttr(training.loss_type));
  return loss->getResult(0);
}

void Importer::declare(Parameter parameter) {
  auto type = RankedTensorType::get(parameter.shape, element_type(parameter.dtype));
  arguments_[parameter.name] = function_.getBody().front().addArgument(type, function_.getLoc());
  parameters_.push_back(std::move(parameter));
}

void Importer::declare_parameters(const Graph& graph) {
  for (const Layer& layer : graph.layers) {
    if (layer.body) declare_parameters(*layer.body);
    else declare_layer_parameters(layer);
  }
  if (&graph != &model_.graph) return;
  for (Parameter& constant : constants_) declare(std::move(constant));  // after the parameters that weights files have
  // Tied parameters come last, once the parameters they are tied to exist.
  std::function<void(const Graph&)> tie = [&](const Graph& part) {
    for (const Layer& layer : part.layers) {
      if (layer.body) tie(*layer.body);
      for (const auto& [own, target] : layer.share) {
        const std::string name = frontend::full_parameter_name(layer.path, own);
        arguments_[name] = arguments_.at(target);
        auto parameter = llvm::find_if(parameters_, [&, &target = target](const Parameter& p) { return p.name == target; });
        parameter->aliases.push_back(name);
      }
    }
  };
  tie(graph);
}

void Importer::declare_layer_parameters(const Layer& layer) {
  const frontend::LayerType* type = frontend::find_layer_type(layer.type);
  if (!type || !type->parameters) return;
  for (const auto& own : type->parameters(layer.arguments)) {
    if (layer.share.count(own.name)) continue;
    Parameter parameter{
        frontend::full_parameter_name(layer.path, own.name), own.dtype, own.shape, own.buffer || !layer.trainable, {}};
    parameter.constant = own.data.has_value();
    if (own.data) parameter.init = {{"type", "data"}, {"data", *own.data}};
    else if (own.buffer) parameter.init = {{"type", "constant"}, {"value", own.fill}};
    else parameter.init = initialisation(layer, own.name, own.shape);
    if (own.data) constants_.push_back(std::move(parameter));
    else declare(std::move(parameter));
  }
}

Json Importer::initialisation(const Layer& layer, const std::string& own_name, const std::vector<int64_t>& shape) const {
  if (const Json* rule = rule_for(model_.init, layer.type, own_name)) return definite_distribution(*rule, shape);
  return default_initialisation(layer, own_name, shape);
}

mlir::Value Importer::parameter(const Layer& layer, const std::string& own_name) {
  auto found = arguments_.find(frontend::full_parameter_name(layer.path, own_name));
  return found == arguments_.end() ? mlir::Value() : found->second;
}

std::vector<mlir::Value> Importer::import_graph(const Graph& graph, std::vector<mlir::Value> inputs) {
  std::vector<std::vector<mlir::Value>> results;
  auto value_of = [&](const frontend::ValueRef& ref) {
    return ref.layer < 0 ? inputs[ref.output] : results[ref.layer][ref.output];
  };
  for (const Layer& layer : graph.layers) {
    std::vector<mlir::Value> sources;
    for (const frontend::ValueRef& ref : layer.inputs) sources.push_back(value_of(ref));
    results.push_back(import_layer(layer, sources));
  }
  std::vector<mlir::Value> outputs;
  for (const frontend::ValueRef& ref : graph.outputs) outputs.push_back(value_of(ref));
  return outputs;
}

std::vector<mlir::Value> Importer::import_layer(const Layer& layer, const std::vector<mlir::Value>& inputs) {
  if (!layer.checkpoint) return import_type(layer, inputs);
  checkpoints_.push_back(builder_.getStringAttr(layer.path));
  std::vector<mlir::Value> results = import_type(layer, inputs);
  checkpoints_.pop_back();
  return results;
}

std::vector<mlir::Value> Importer::import_type(const Layer& layer, const std::vector<mlir::Value>& inputs) {
  // An empty device list runs the module unpartitioned, as in PyTorch.
  if (layer.type == "DataParallel" && layer.arguments["device_ids"] != Json::array())
    return import_data_parallel(layer, inputs);
  if (layer.body) return import_graph(*layer.body, inputs);
  Operation* before = builder_.getBlock()->empty() ? nullptr : &builder_.getBlock()->back();
  std::vector<mlir::Value> results = build_layer(*this, layer, location(layer, layer.path), inputs);
  Block::iterator first = before ? std::next(before->getIterator()) : builder_.getBlock()->begin();
  for (Operation& made : llvm::make_range(first, builder_.getBlock()->end())) {
    Operation* op = &made;
    op->setAttr(nn::kType, builder_.getStringAttr(layer.type));
    // Inside a parallel region the group determines the place; the frontend has rejected annotations that contradict it.
    if (layer.device && parallel_depth_ == 0)
      op->setAttr(nn::kDevice, builder_.getI64IntegerAttr(layer.device->host ? nn::kHost : layer.device->index));
  }
  return results;
}

std::vector<mlir::Value> Importer::import_data_parallel(const Layer& layer, const std::vector<mlir::Value>& inputs) {
  const Json& a = layer.arguments;
  DenseI64ArrayAttr device_ids;
  if (!a["device_ids"].is_null()) device_ids = builder_.getDenseI64ArrayAttr(a["device_ids"].get<std::vector<int64_t>>());
  IntegerAttr output_device;
  if (!a["output_device"].is_null()) output_device = builder_.getI64IntegerAttr(a["output_device"].get<int64_t>());
  mlir::Type element = builder_.getF32Type();
  auto parallel = make<nn::DataParallelOp>(
      location(layer, layer.path), element, static_cast<unsigned>(layer.body->outputs.size()), ValueRange(inputs),
      builder_.getStringAttr(layer.path), builder_.getI64IntegerAttr(a["dim"].get<int64_t>()), device_ids, output_device);
  parallel->setAttr(nn::kType, builder_.getStringAttr(layer.type));
  OpBuilder::InsertionGuard guard(builder_);
  Block* body = builder_.createBlock(&parallel.getBody());
  std::vector<mlir::Value> arguments;
  for (mlir::Value input : inputs) {
    mlir::Type input_element = cast<mlir::TensorType>(input.getType()).getElementType();
    arguments.push_back(body->addArgument(UnrankedTensorType::get(input_element), input.getLoc()));
  }
  ++parallel_depth_;
  std::vector<mlir::Value> outputs = import_graph(*layer.body, arguments);
  --parallel_depth_;
  builder_.create<nn::YieldOp>(parallel.getLoc(), outputs);
  for (auto [result, output] : llvm::zip(parallel.getResults(), outputs))
    result.setType(UnrankedTensorType::get(cast<mlir::TensorType>(output.getType()).getElementType()));
  std::vector<mlir::Value> results(parallel.result_begin(), parallel.result_end());
  return results;
}

}  // namespace import
}  // namespace sheaf
