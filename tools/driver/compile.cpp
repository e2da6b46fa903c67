#include "tools/driver/compile.h"

#include "codegen/plan/executable_steps.h"
#include "codegen/plan/layer_steps.h"
#include "frontend/import/import.h"
#include "ir/Nn/Mixing.h"
#include "ir/Nn/Nn.h"
#include "passes/Passes.h"
#include "runtime/base/parameter_names.h"
#include "runtime/base/version.h"
#include "runtime/check/lengths.h"
#include "runtime/plan/needed_steps.h"
#include "tools/driver/collector.h"
#include "tools/driver/compiler_memory.h"
#include "tools/driver/loss_scale.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

using namespace mlir;

namespace sheaf {
namespace {

/// sheaf's passes need no MLIR worker threads; starting them would cost more than they save.
std::unique_ptr<MLIRContext> make_context() { return std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED); }

/// The model's training section as the plan keeps it: complete, with PyTorch's defaults filled in.
Json json_of(const frontend::Training& training, const Json& loss_scale) {
  Json targets = Json::object();
  for (const frontend::InputDecl& target : training.targets) {
    Json shape = Json::array();
    for (const Extent& size : target.shape) shape.push_back(size.is_static() ? Json(size.constant) : Json(to_string(size)));
    targets[target.name] = {{"shape", shape}, {"dtype", std::string(name_of(target.dtype))}};
  }
  Json json = {
      {"targets", targets},
      {"loss", {{"type", training.loss_type}, {"inputs", training.loss_inputs}, {"arguments", training.loss_arguments}}},
      {"optimizer", training.optimizer}};
  if (!training.schedule.is_null()) json["schedule"] = training.schedule;
  if (training.clip_grad_norm) json["clip_grad_norm"] = *training.clip_grad_norm;
  if (!loss_scale.is_null()) json["loss_scale"] = loss_scale;
  json["metrics"] = training.metrics;
  return json;
}

std::string text_of(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

/// The optimiser's states (`role` "state") and the sums of micro-batches ("accumulator"): arguments of a training program, all
/// zero at first unless they say otherwise.
std::vector<Parameter> states_of(func::FuncOp function, StringRef role = "state") {
  std::vector<Parameter> states;
  for (BlockArgument argument : function.getArguments()) {
    if (function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole).getValue() != role) continue;
    auto tensor = cast<dist::PlacedType>(argument.getType()).getTensor();
    Parameter state;
    state.name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kName).str();
    state.dtype = codegen::dtype_of(tensor.getElementType());
    state.shape = tensor.getShape().vec();
    const auto initial = function.getArgAttrOfType<FloatAttr>(argument.getArgNumber(), nn::kInitial);
    state.init = {{"type", "constant"}, {"value", initial ? initial.getValueAsDouble() : 0.0}};
    state.transient = role == "accumulator";
    states.push_back(std::move(state));
  }
  return states;
}

bool same_regions(const std::vector<sheaf::Region>& a, const std::vector<sheaf::Region>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const sheaf::Region& one, const sheaf::Region& other) {
    return one.name == other.name && one.device_ids == other.device_ids && one.output_device == other.output_device &&
           one.dim == other.dim;
  });
}

/// Programs of a plan that are made together, each in both its forms.
struct Compiled {
  std::vector<Program> graphs, programs;
  std::vector<sheaf::Region> regions;
  std::vector<Parameter> state;
  std::string ir;
  bool mixes_rows = false;  ///< nn-warn-mixing has warned
};

struct Compiler {
  MLIRContext& context;
  Collector& diagnostics;
  kernels::KernelModule& kernels;

  /// From nn to dist by `partition`, recording its functions `names` as logical programs; then by `lower` to the executable
  /// form.
  Result<Compiled> compile(ModuleOp module, ArrayRef<StringRef> names, llvm::function_ref<void(PassManager&)> partition,
                           void (*lower)(OpPassManager&)) {
    PassManager to_dist(&context, ModuleOp::getOperationName());
    partition(to_dist);
    if (failed(to_dist.run(module))) return diagnostics.error("internal error: the model could not be partitioned");
    Compiled compiled;
    compiled.regions = codegen::regions_of(module);
    for (StringRef name : names)
      compiled.mixes_rows |= module.lookupSymbol<func::FuncOp>(name)->removeAttr(nn::kMixesRows) != nullptr;
    compiled.ir = text_of(module);
    for (StringRef name : names) {
      auto function = module.lookupSymbol<func::FuncOp>(name);
      codegen::LayerSteps layers;
      Result<Program> graph = codegen::ProgramBuilder(function, layers).build();
      if (!graph) return diagnostics.error(graph.error().message());
      compiled.graphs.push_back(std::move(*graph));
      compiled.state = states_of(function);
    }
    for (Parameter& sum : states_of(module.lookupSymbol<func::FuncOp>(names.back()), "accumulator"))
      compiled.state.push_back(std::move(sum));
    PassManager lowering(&context, ModuleOp::getOperationName());
    lower(lowering);
    if (failed(lowering.run(module))) return diagnostics.error("internal error: the program could not be lowered");
    for (StringRef name : names) {
      codegen::ExecutableSteps steps(kernels);
      SHEAF_ASSIGN(auto program, codegen::ProgramBuilder(module.lookupSymbol<func::FuncOp>(name), steps).build());
      compiled.programs.push_back(std::move(program));
    }
    return compiled;
  }
};

/// Puts the steps that the first `outputs` outputs need first: they run before gradients are given.
void put_first(Program& program, size_t outputs) {
  const std::vector<bool> first = needed_steps(program, outputs);
  std::vector<Step> steps;
  for (const bool needed : {true, false})
    for (size_t i = 0; i < first.size(); ++i)
      if (first[i] == needed) steps.push_back(std::move(program.steps[i]));
  program.steps = std::move(steps);
}

/// The full names of the floating-point inputs and parameters that `names` refers to, with or without `module.` parts, each
/// once; a tied parameter has several names. Errors, located: no input or parameter has that name.
Result<std::vector<std::string>> differentiable(const frontend::Model& model, func::FuncOp function,
                                                ArrayRef<Parameter> parameters, ArrayRef<std::string> names) {
  std::set<std::string> full;
  std::map<std::string, std::string> by_short_name;
  for (BlockArgument argument : function.getArguments()) {
    const auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!tensor || !isa<FloatType>(tensor.getElementType())) continue;
    std::string name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kName).str();
    by_short_name.emplace(without_module(name), name);
    full.insert(std::move(name));
  }
  for (const Parameter& parameter : parameters)
    for (const std::string& alias : parameter.aliases)
      if (full.contains(parameter.name)) by_short_name.emplace(without_module(alias), parameter.name);
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const auto known = by_short_name.find(without_module(name));
    if (!full.contains(name) && known == by_short_name.end())
      return Error({model.file},
                   "gradients of '" + name + "': the model has no input or parameter of that name that is of floating point");
    const std::string& argument = full.contains(name) ? name : known->second;
    if (!llvm::is_contained(found, argument)) found.push_back(argument);
  }
  return found;
}

/// The plan's `forward` and `backward`.
Result<void> add_caller_programs(const frontend::Model& model, const CompileOptions& options, passes::PipelineOptions pipeline,
                                 void (*lower)(OpPassManager&), Compiler& compiler, Plan& plan) {
  pipeline.training_mode = options.gradients->training_mode;
  compiler.diagnostics.take_no_warnings();  // the warnings of the same graph are already present
  const auto add = [&](StringRef name, Program& graph, Program& program, std::string& ir) -> Result<void> {
    ImportedModel imported =
        import_model(model, compiler.context, pipeline.training_mode ? Purpose::training_outputs : Purpose::inference);
    auto function = *imported.module->getOps<func::FuncOp>().begin();
    function.setName(name);
    SHEAF_ASSIGN(const auto names, differentiable(model, function, imported.parameters, options.gradients->of));
    if (pipeline.differentiate) {
      SmallVector<StringRef> of(names.begin(), names.end());
      function->setAttr(nn::kDifferentiate, Builder(&compiler.context).getStrArrayAttr(of));
    }
    SHEAF_ASSIGN(auto made, compiler.compile(
                                *imported.module, {name},
                                [&](PassManager& passes) { passes::build_caller_pipeline(passes, pipeline); }, lower));
    if (!same_regions(plan.regions, made.regions))
      return Error("internal error: program '" + name.str() + "' has other parallel regions than those before it");
    graph = std::move(made.graphs[0]);
    program = std::move(made.programs[0]);
    ir = std::move(made.ir);
    return {};
  };
  SHEAF_TRY(add("forward", plan.forward_graph, plan.forward, plan.forward_ir));
  pipeline.differentiate = true;
  SHEAF_TRY(add("backward", plan.backward_graph, plan.backward, plan.backward_ir));
  put_first(plan.backward, plan.forward.outputs.size());
  return {};
}

}  // namespace

Result<Plan> compile(const frontend::Model& model, const CompileOptions& options, CompileReport* report) {
  const CompilerMemory memory;
  auto context = make_context();
  context->loadDialect<nn::NnDialect, dist::DistDialect, func::FuncDialect>();
  context->printOpOnDiagnostic(false);  // users know the layer and its line, not the op
  Collector diagnostics(*context, model, report ? &report->warnings : nullptr);
  kernels::KernelModule kernels(*context);
  Compiler compiler{*context, diagnostics, kernels};

  Plan plan;
  plan.producer = name_and_version();
  plan.name = model.name;
  plan.precision = options.precision;
  if (options.precision != "f32") plan.requires_.push_back(options.precision);
  if (!model.training && options.strategy != Strategy())
    return Error({model.file}, "strategy '" + to_string(options.strategy) +
                                   "' is of training steps, but the model has no 'training' section");
  if (options.strategy != Strategy()) plan.requires_.push_back(to_string(options.strategy));
  if (!model.lengths.empty()) plan.requires_.push_back(kLengthsFeature);
  const Json loss_scale = model.training ? loss_scale_of(*model.training, options.precision) : Json();
  if (model.training) plan.training = json_of(*model.training, loss_scale);
  const passes::PipelineOptions pipeline{options.device_memory, options.precision, options.unpartitioned, options.strategy};
  auto* const lower_infer = options.unfused ? passes::build_plain_lowering_pipeline : passes::build_inference_pipeline;
  auto* const lower_training =
      options.unfused ? passes::build_plain_lowering_pipeline : passes::build_training_lowering_pipeline;
  bool first = true;
  const auto add = [&](Purpose purpose, ArrayRef<StringRef> names,
                       void (*partition)(OpPassManager&, const passes::PipelineOptions&),
                       void (*lower)(OpPassManager&)) -> Result<Compiled> {
    ImportedModel imported = import_model(model, *context, purpose);
    if (purpose == Purpose::training && !loss_scale.is_null())
      (*imported.module->getOps<func::FuncOp>().begin())
          ->setAttr(nn::kLossScale, loss_scale_attribute(Builder(context.get()), loss_scale));
    SHEAF_ASSIGN(auto compiled,
                 compiler.compile(*imported.module, names, [&](PassManager& passes) { partition(passes, pipeline); }, lower));
    if (!first && !same_regions(plan.regions, compiled.regions))
      return Error("internal error: program '" + names[0].str() + "' has other parallel regions than those before it");
    first = false;
    plan.parameters = std::move(imported.parameters);
    plan.regions = std::move(compiled.regions);
    plan.state = std::move(compiled.state);  // the sums of micro-batches too; the optimiser's state is that of `train`
    return compiled;
  };
  const auto wanted = [&](StringRef name) { return options.only.empty() || options.only == name; };
  const bool trains = model.training && wanted("train");
  if (wanted("infer")) {
    SHEAF_ASSIGN(auto infer, add(Purpose::inference, {"infer"}, passes::build_partition_pipeline, lower_infer));
    if (report) report->mixes_rows = infer.mixes_rows;
    plan.ir = std::move(infer.ir);
    plan.infer_graph = std::move(infer.graphs[0]);
    plan.infer = std::move(infer.programs[0]);
  }
  if (trains) {
    SHEAF_ASSIGN(auto train, add(Purpose::training, {"train"}, passes::build_training_pipeline, lower_training));
    plan.train_ir = std::move(train.ir);
    plan.train_graph = std::move(train.graphs[0]);
    plan.train = std::move(train.programs[0]);
  }
  if (model.training && (wanted("accumulate") || wanted("update"))) {
    if (trains) diagnostics.take_no_warnings();  // the warnings of the same graph are already present
    SHEAF_ASSIGN(auto parts,
                 add(Purpose::training, {"accumulate", "update"}, passes::build_accumulation_pipeline, lower_training));
    plan.accumulate_ir = std::move(parts.ir);
    plan.accumulate_graph = std::move(parts.graphs[0]);
    plan.accumulate = std::move(parts.programs[0]);
    plan.update_graph = std::move(parts.graphs[1]);
    plan.update = std::move(parts.programs[1]);
  }
  if (options.gradients) SHEAF_TRY(add_caller_programs(model, options, pipeline, lower_training, compiler, plan));
  plan.kernels = kernels.kernels();
  if (!options.objects) return plan;
  SHEAF_ASSIGN(auto objects, kernels.compile());
  plan.objects = std::move(objects);
  return plan;
}

}  // namespace sheaf
