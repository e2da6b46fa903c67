#include "runtime/check/check.h"

#include "runtime/base/printable.h"
#include "runtime/check/check_caller.h"
#include "runtime/check/check_program.h"
#include "runtime/check/check_training.h"
#include "runtime/plan/base64.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace sheaf {

namespace {

using Problem = std::optional<std::string>;

constexpr int kMostPlannedDevices = 1 << 16;
constexpr int kMostKernelExtents = 1024;
constexpr int kMostThreads = 1024;  // of a block, on every GPU

Problem problem_of(const Region& region) {
  if (region.name.empty()) return "a region needs a name";
  if (region.dim < -kLargestRank || region.dim >= kLargestRank) return "'dim' is out of range";
  const auto bad = [](int device) { return device < 0 || device >= kMostPlannedDevices; };
  if (region.output_device && bad(*region.output_device)) return "'output_device' is out of range";
  if (!region.device_ids) return std::nullopt;
  if (region.device_ids->empty()) return "a region needs a device";
  if (std::any_of(region.device_ids->begin(), region.device_ids->end(), bad)) return "'device_ids' are out of range";
  return std::nullopt;
}

Problem problem_of(const Parameter& parameter) {
  if (parameter.name.empty()) return "a parameter needs a name";
  if (parameter.shape.size() > kLargestRank) return "more than " + std::to_string(kLargestRank) + " dimensions";
  int64_t bytes = static_cast<int64_t>(size_of(parameter.dtype));
  for (const int64_t dim : parameter.shape) {
    if (dim < 0 || dim > kLargestDim) return "a dimension of " + std::to_string(dim);
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(dim, 1), &bytes) || bytes >= kLargestBytes)
      return "the parameter is too large";
  }
  if (!parameter.init.is_object()) return "'init' must be an object";
  if (parameter.constant) {
    const auto text = parameter.init.find("data");
    if (text == parameter.init.end() || !text->is_string()) return "a constant's 'init' has its elements as 'data'";
    const auto data = from_base64(text->get_ref<const std::string&>());
    int64_t size = static_cast<int64_t>(size_of(parameter.dtype));
    for (const int64_t dim : parameter.shape) size *= dim;
    if (!data || static_cast<int64_t>(data->size()) != size)
      return "its 'data' isn't " + std::to_string(size) + " bytes in base64";
    if (!parameter.buffer || !parameter.aliases.empty()) return "a constant is a buffer without other names";
  }
  return std::nullopt;
}

Problem problem_of(const Kernel& kernel) {
  // It becomes a symbol of a shared object: a C identifier.
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (kernel.name.empty() || kernel.name.size() > 256 || !std::all_of(kernel.name.begin(), kernel.name.end(), in_name))
    return in_quotes(kernel.name) + " can't name a kernel";
  if (kernel.extents < 0 || kernel.extents > kMostKernelExtents)
    return "a kernel reads 0 to " + std::to_string(kMostKernelExtents) + " extents";
  if (kernel.gpu_block == 0 && kernel.gpu_items == 0) return std::nullopt;
  if (kernel.gpu_block < 1 || kernel.gpu_block > kMostThreads)
    return "a block on a GPU has 1 to " + std::to_string(kMostThreads) + " threads";
  if (kernel.gpu_items < 1) return "a block on a GPU does one item at least";
  return std::nullopt;
}

Problem problem_of(const std::pair<std::string, std::string>& object) {
  if (object.first.empty()) return "an object needs the instruction set that it is for";
  if (object.second.empty()) return "the object is empty";
  return std::nullopt;
}

const std::string& name_in(const std::pair<std::string, std::string>& object) { return object.first; }
template <typename T>
const std::string& name_in(const T& item) {
  return item.name;
}

/// `problem` finds what is wrong with an item; the names must differ.
template <typename T>
Result<void> check_list(const std::vector<T>& items, const std::string& file, const std::string& path,
                        Problem (*problem_in)(const T&) = problem_of) {
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < items.size(); ++i) {
    Problem problem = problem_in(items[i]);
    if (!problem && !names.insert(name_in(items[i])).second) problem = "a second '" + name_in(items[i]) + "'";
    if (problem) return Error({file, 0, 0}, path + "[" + std::to_string(i) + "]: " + *problem);
  }
  return {};
}

/// Weights files have those before the constants.
Result<void> check_constants(const Plan& plan, const std::string& file) {
  for (size_t i = 1; i < plan.parameters.size(); ++i)
    if (plan.parameters[i - 1].constant && !plan.parameters[i].constant)
      return Error({file, 0, 0}, "parameters[" + std::to_string(i) + "]: it stands behind a constant");
  return {};
}

/// No name, alias or not, stands for two parameters.
Result<void> check_aliases(const Plan& plan, const std::string& file) {
  std::unordered_set<std::string> names;
  for (const Parameter& parameter : plan.parameters) names.insert(parameter.name);
  for (size_t i = 0; i < plan.parameters.size(); ++i)
    for (const std::string& alias : plan.parameters[i].aliases)
      if (alias.empty() || !names.insert(alias).second)
        return Error({file, 0, 0}, "parameters[" + std::to_string(i) + "].aliases: '" + alias + "' is no name of its own");
  return {};
}

}  // namespace

Result<void> check(const Plan& plan, const std::string& file) {
  if (plan.precision != "f32" && plan.precision != "bf16" && plan.precision != "f16")
    return Error({file, 0, 0}, "precision: " + in_quotes(plan.precision) + " is not f32, bf16 or f16");
  if (!plan.training.is_null() && !plan.training.is_object())
    return Error({file, 0, 0}, "training: expected an object or null");
  SHEAF_TRY(check_list(plan.regions, file, "regions"));
  SHEAF_TRY(check_list(plan.parameters, file, "parameters"));
  SHEAF_TRY(check_aliases(plan, file));
  SHEAF_TRY(check_constants(plan, file));
  const auto state_problem = [](const Parameter& state) -> Problem {
    if (Problem problem = problem_of(state)) return problem;
    return problem_of_state(state);
  };
  SHEAF_TRY(check_list<Parameter>(plan.state, file, "state", state_problem));
  SHEAF_TRY(check_list(plan.kernels, file, "kernels"));
  SHEAF_TRY(check_list(plan.objects, file, "objects"));
  if (!plan.kernels.empty() && plan.objects.empty())
    return Error({file, 0, 0}, "objects: there are kernels, but no object that holds their code");
  if (std::any_of(plan.kernels.begin(), plan.kernels.end(), [](const Kernel& kernel) { return kernel.gpu_block != 0; }) &&
      std::none_of(plan.objects.begin(), plan.objects.end(), [](const auto& object) { return object.first == kPtxObject; }))
    return Error({file, 0, 0},
                 std::string("objects: there are kernels for GPUs, but no '") + kPtxObject + "' that holds their code");
  SHEAF_TRY(check_training(plan, file));
  SHEAF_TRY(check_program(plan, plan.infer, false, file, "programs.infer"));
  for (const auto& [program, path] : {std::pair{&plan.train, "programs.train"},
                                      {&plan.accumulate, "programs.accumulate"},
                                      {&plan.update, "programs.update"},
                                      {&plan.forward, "programs.forward"},
                                      {&plan.backward, "programs.backward"}}) {
    if (program->steps.empty()) continue;
    SHEAF_TRY(check_program(plan, *program, false, file, path));
  }
  SHEAF_TRY(check_caller(plan, file));
  const auto check_graph = [&](const Program& graph, const std::string& path) -> Result<void> {
    if (graph.symbols.empty() && graph.values.empty() && graph.steps.empty() && graph.outputs.empty()) return {};
    return check_program(plan, graph, true, file, path);
  };
  SHEAF_TRY(check_graph(plan.infer_graph, "graphs.infer"));
  SHEAF_TRY(check_graph(plan.train_graph, "graphs.train"));
  SHEAF_TRY(check_graph(plan.accumulate_graph, "graphs.accumulate"));
  SHEAF_TRY(check_graph(plan.update_graph, "graphs.update"));
  SHEAF_TRY(check_graph(plan.forward_graph, "graphs.forward"));
  return check_graph(plan.backward_graph, "graphs.backward");
}

}  // namespace sheaf
