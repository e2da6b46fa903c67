// The C++ interface's compiler.
#include "sheaf/compiler.h"

#include "frontend/set_training.h"
#include "runtime/base/exception.h"
#include "runtime/base/joined.h"
#include "tools/driver/compile.h"

#include <algorithm>

namespace sheaf {
namespace {

Result<CompiledPlan> compiled(frontend::Model model, const CompilerOptions& options) {
  static constexpr std::string_view kPrecisions[] = {"f32", "bf16", "f16"};
  if (std::ranges::find(kPrecisions, options.precision) == std::end(kPrecisions))
    return Error("precision '" + options.precision + "': expected f32, bf16 or f16");
  const auto strategy = strategy_from_name(options.strategy);
  if (!strategy)
    return Error("strategy '" + options.strategy + "': expected one of " +
                 joined(std::vector<std::string>(strategy_names().begin(), strategy_names().end())));
  if (!options.training.empty()) SHEAF_TRY(frontend::set_training(model, "training", options.training));
  CompileOptions how;
  how.precision = options.precision;
  how.strategy = *strategy;
  how.device_memory = options.device_memory;
  if (!options.gradients.empty() && options.gradients != "train" && options.gradients != "eval")
    return Error("gradients '" + options.gradients + "': expected train or eval");
  if (!options.gradients.empty()) how.gradients = {options.gradients == "train", options.gradients_of};
  CompileReport said;
  SHEAF_ASSIGN(auto plan, compile(model, how, &said));
  plan.file = model.file;
  return CompiledPlan{std::move(plan), std::move(said.warnings), said.mixes_rows};
}

}  // namespace

Result<CompiledPlan> compile_file(const std::string& file, const CompilerOptions& options) try {
  SHEAF_ASSIGN(auto model, frontend::load_model(file));
  return compiled(std::move(model), options);
} catch (...) {
  return error_of_exception();
}

Result<CompiledPlan> compile_text(const std::string& text, const CompilerOptions& options, const std::string& name) try {
  SHEAF_ASSIGN(auto model, frontend::parse_model(name, text));
  return compiled(std::move(model), options);
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
