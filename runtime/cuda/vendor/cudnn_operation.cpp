#include "runtime/cuda/vendor/cudnn_operation.h"

#include "runtime/cuda/vector_norm.h"

#include <type_traits>

namespace sheaf::cuda {

Result<void> CudnnOperation::enqueue(const Enqueue& at) {
  SHEAF_TRY(driver_.make_current(device_));
  for (Part& part : parts_) {
    const auto put = [&](auto& kind) -> Result<void> {
      using Kind = std::remove_reference_t<decltype(kind)>;
      if constexpr (std::is_same_v<Kind, CudnnCall>) return kind.enqueue(at);
      else if constexpr (std::is_same_v<Kind, KernelCall>) return kind.enqueue(driver_, at);
      else return driver_.fill(at.stream, kind.where.resolve(at), 0, kind.bytes);
    };
    SHEAF_TRY(std::visit(put, part));
  }
  return {};
}

CudnnBuilder::CudnnBuilder(const StepOperands& operands, LibraryContext& context)
    : operands(operands), prepared(operands.prepared()), context_(context) {
  require(context.cudnn != nullptr, context.no_cudnn);
  if (context.planning()) return;
  if (auto current = context.driver->make_current(context.device); !current) throw OperationError(current.error().message());
}

OwnKernels* CudnnBuilder::kernels() {
  require(planning() || context_.own != nullptr, context_.no_own);
  return context_.own.get();
}

EngineChoice CudnnBuilder::choice() const {
  return {.fast_numerics = operands.request.fast_numerics, .deterministic = operands.request.deterministic};
}

MemoryRef CudnnBuilder::input(std::string_view role) const {
  const int index = operands.find(role);
  return index < 0 ? MemoryRef{} : MemoryRef{index, 0};
}

Result<std::shared_ptr<CudnnPlan>> CudnnBuilder::plan(const CudnnGraph& graph, EngineChoice choice) {
  const Choices* choices = operands.request.choices;
  if (planning() || !choices) return context_.cudnn->plan(graph, choice);
  choice.candidates = true;
  // Machines differ within a list, and the file of choices is the host's.
  const std::string key = context_.cudnn->machine() + ": " + Cudnn::key(graph, choice);
  choice.wanted = choices->candidate(key);
  SHEAF_ASSIGN(auto plan, context_.cudnn->plan(graph, choice));
  keys_[plan.get()] = key;
  return plan;
}

void CudnnBuilder::offer(const CudnnPlan& plan, const CudnnGraph& graph) {
  const auto key = keys_.find(&plan);
  if (key == keys_.end() || plan.candidates().size() < 2 || prepared.selection) return;
  // The heuristics give an order alone: each candidate counts as a little slower than the one before.
  constexpr double kStep = 0.01;
  auto selection = std::make_shared<Selection>();
  selection->key = key->second;
  for (const std::string& name : plan.candidates()) {
    if (name == plan.name()) selection->taken = selection->candidates.size();
    selection->candidates.push_back({name, graph.least_seconds() * (1 + kStep * double(selection->candidates.size()))});
  }
  prepared.selection = std::move(selection);
}

void CudnnBuilder::add(const std::shared_ptr<CudnnPlan>& plan, const CudnnGraph& graph,
                       const std::vector<std::pair<CudnnGraph::Id, MemoryRef>>& places) {
  engines_ += (engines_.empty() ? "" : ", ") + plan->engine();
  offer(*plan, graph);
  if (!plan->left_out().empty()) because("--deterministic leaves out " + plan->left_out());
  if (const std::string why = plan->unknown(); !why.empty())
    prepared.uncertain = "the workspace of cuDNN's engine is left out: " + why;
  ++launches_;
  const MemoryRef workspace = plan->workspace_bytes() > 0 ? scratch(plan->workspace_bytes()) : MemoryRef{};
  if (planning()) return;
  std::vector<MemoryRef> by_tensor(graph.tensors().size());
  for (const auto& [tensor, place] : places) by_tensor[size_t(tensor)] = place;
  parts_.emplace_back(CudnnCall(context_.cudnn, plan, std::move(by_tensor), workspace));
}

void CudnnBuilder::add(const CudnnGraph& graph, const std::vector<std::pair<CudnnGraph::Id, MemoryRef>>& places) {
  const auto found = plan(graph, choice());
  if (!found) throw OperationError("cuDNN has no engine for it: " + gist_of(found.error()));
  add(*found, graph, places);
}

void CudnnBuilder::add(KernelCall call) {
  ++launches_;
  if (!planning()) parts_.emplace_back(std::move(call));
}

void CudnnBuilder::add_statistics(const StatisticsCall& call) {
  ++launches_;
  OwnKernels* kernels = this->kernels();
  if (!planning()) parts_.emplace_back(statistics_call(*kernels, call));
}

void CudnnBuilder::add_zeros(MemoryRef where, size_t bytes) {
  ++launches_;
  if (!planning()) parts_.emplace_back(CudnnOperation::Zeros{where, bytes});
}

void CudnnBuilder::because(const std::string& reason) { prepared.reason += (prepared.reason.empty() ? "" : "; ") + reason; }

Prepared CudnnBuilder::take() {
  if (prepared.implementation.empty()) prepared.implementation = engines_.empty() ? "kernel" : "cuDNN " + engines_;
  if (planning()) prepared.executable = planned_launches_of(launches_);
  else
    prepared.executable = std::make_unique<CudnnOperation>(*context_.driver, context_.device, context_.own, std::move(parts_));
  return std::move(prepared);
}

std::string gist_of(const Error& refusal) {
  const std::string& words = refusal.message();
  const size_t begin = words.rfind("Reason: ");
  std::string gist = begin == words.npos ? words : words.substr(begin + 8);
  constexpr size_t most = 160;
  if (const size_t at = gist.find(" at: "); at != gist.npos) gist.resize(at);
  if (gist.size() > most) gist = gist.substr(0, most) + "…";
  return gist;
}

}  // namespace sheaf::cuda
