#include "codegen/plan/compile.h"

#include "codegen/plan/executable_steps.h"
#include "codegen/plan/layer_steps.h"
#include "frontend/import/import.h"
#include "ir/Nn/Nn.h"
#include "passes/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sheaf {
namespace {

/// MLIR's diagnostics as sheaf's: located in the model file, naming the layer.
class Collector {
 public:
  Collector(MLIRContext& context, const frontend::Model& model, std::vector<sheaf::Diagnostic>* warnings)
      : model_(model), warnings_(warnings), handler_(&context, [this](mlir::Diagnostic& diagnostic) { take(diagnostic); }) {}

  Error error(std::string otherwise) {
    if (error_.diagnostics.empty()) error_.add(std::move(otherwise));
    return std::move(error_);
  }

 private:
  LogicalResult take(mlir::Diagnostic& diagnostic) {
    bool warning = diagnostic.getSeverity() == DiagnosticSeverity::Warning;
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error && !(warning && warnings_)) return success();
    std::string message = diagnostic.str();
    StringRef text = message;
    // "'nn.conv' op has…": users know layers, not ops.
    if (text.starts_with("'")) text = text.drop_front().split("' op ").second.empty() ? text : text.split("' op ").second;
    StringRef layer = nn::layer_of(diagnostic.getLocation());
    sheaf::Diagnostic made;
    made.severity = warning ? Severity::warning : Severity::error;
    if (FileLineColLoc position = nn::position_of(diagnostic.getLocation()))
      made.location = {position.getFilename().str(), static_cast<int>(position.getLine()), static_cast<int>(position.getColumn())};
    made.message = (layer.empty() ? "" : "layer '" + layer.str() + "' ") + text.str();
    made.source_line = line(made.location.line);
    for (const mlir::Diagnostic& note : diagnostic.getNotes()) made.notes.push_back(note.str());
    (warning ? *warnings_ : error_.diagnostics).push_back(std::move(made));
    return success();
  }

  std::string line(int number) const {
    StringRef rest = model_.text;
    for (int i = 1; i < number; ++i) rest = rest.split('\n').second;
    return number > 0 ? rest.split('\n').first.str() : "";
  }

  const frontend::Model& model_;
  std::vector<sheaf::Diagnostic>* warnings_;
  Error error_;
  ScopedDiagnosticHandler handler_;
};

/// sheaf's passes need no MLIR worker threads; starting some would cost more than they save.
std::unique_ptr<MLIRContext> make_context() { return std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED); }

/// The model's training section as the plan keeps it: complete, with PyTorch's defaults filled in.
Json json_of(const frontend::Training& training) {
  Json targets = Json::object();
  for (const frontend::InputDecl& target : training.targets) {
    Json shape = Json::array();
    for (int64_t size : target.shape) shape.push_back(size < 0 ? Json("batch") : Json(size));
    targets[target.name] = {{"shape", shape}, {"dtype", std::string(name_of(target.dtype))}};
  }
  Json json = {{"targets", targets},
               {"loss", {{"type", training.loss_type}, {"inputs", training.loss_inputs}, {"arguments", training.loss_arguments}}},
               {"optimizer", training.optimizer}};
  if (!training.schedule.is_null()) json["schedule"] = training.schedule;
  if (training.clip_grad_norm) json["clip_grad_norm"] = *training.clip_grad_norm;
  json["metrics"] = training.metrics;
  return json;
}

std::string text_of(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

}  // namespace

Result<Plan> compile(const frontend::Model& model, const CompileOptions& options, std::vector<sheaf::Diagnostic>* warnings) {
  auto context = make_context();
  context->loadDialect<nn::NnDialect, dist::DistDialect, func::FuncDialect>();
  context->printOpOnDiagnostic(false);  // users know the layer and its line, not the op
  Collector diagnostics(*context, model, warnings);
  ImportedModel imported = import_model(model, *context);
  ModuleOp module = *imported.module;

  PassManager partition(context.get(), ModuleOp::getOperationName());
  passes::build_partition_pipeline(partition, {options.device_memory});
  if (failed(partition.run(module))) return diagnostics.error("internal error: the model could not be partitioned");

  Plan plan;
  plan.producer = "sheaf " SHEAF_VERSION;
  plan.name = model.name;
  plan.precision = options.precision;
  plan.parameters = std::move(imported.parameters);
  plan.regions = codegen::regions_of(module);
  if (model.training) plan.training = json_of(*model.training);
  plan.ir = text_of(module);
  auto infer = module.lookupSymbol<func::FuncOp>("infer");
  codegen::LayerSteps layers;
  Result<Program> graph = codegen::ProgramBuilder(infer, layers).build();
  if (!graph) return diagnostics.error(graph.error().message());
  plan.infer_graph = std::move(*graph);

  PassManager lowering(context.get(), ModuleOp::getOperationName());
  passes::build_inference_pipeline(lowering);
  if (failed(lowering.run(module))) return diagnostics.error("internal error: the program could not be lowered");
  kernels::KernelModule kernels(*context);
  codegen::ExecutableSteps steps(kernels);
  Result<Program> program = codegen::ProgramBuilder(infer, steps).build();
  if (!program) return program.error();
  plan.infer = std::move(*program);
  plan.kernels = kernels.kernels();
  auto objects = kernels.compile();
  if (!objects) return objects.error();
  plan.objects = std::move(*objects);
  return plan;
}

}  // namespace sheaf
