#include "frontend/refused_types.h"

#include <algorithm>

namespace sheaf::frontend {
namespace {

/// Their sizes are those of the first input that they see; `size` is the argument that says so beforehand.
std::vector<RefusedType> lazy() {
  std::vector<RefusedType> rows;
  const auto add = [&](const char* size, const std::vector<std::string>& kinds) {
    for (const std::string& kind : kinds)
      rows.push_back(
          {"Lazy" + kind, "takes a size from its first input; write the layer without Lazy, with '" + std::string(size) + "'"});
  };
  add("in_features", {"Linear"});
  add("in_channels", {"Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"});
  add("num_features", {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"});
  return rows;
}

/// What holds layers or parameters.
std::vector<RefusedType> holders() {
  std::vector<RefusedType> rows;
  for (const char* name : {"Module", "Container", "ModuleList", "ModuleDict"})
    rows.push_back({name, "computes nothing itself; list the layers that it holds, or write a module or Sequential"});
  for (const char* name : {"ParameterList", "ParameterDict"})
    rows.push_back({name, "computes nothing itself; write a Parameter for each tensor that it holds"});
  rows.push_back({"RNNBase", "is the base of LSTM, GRU and RNN; write one of these"});
  rows.push_back({"RNNCellBase", "is the base of LSTMCell, GRUCell and RNNCell; write one of these"});
  return rows;
}

}  // namespace

const std::vector<RefusedType>& refused_types() {
  static const std::vector<RefusedType> rows = [] {
    std::vector<RefusedType> all = {
        {"FractionalMaxPool2d", "draws its windows at random, in inference too; write a MaxPool or AdaptiveMaxPool"},
        {"FractionalMaxPool3d", "draws its windows at random, in inference too; write a MaxPool or AdaptiveMaxPool"},
        {"AdaptiveLogSoftmaxWithLoss",
         "computes each cluster only for the rows whose target is in it, and their number isn't known before the run; write "
         "Linear, and CrossEntropyLoss as the loss"},
        {"CrossMapLRN2d", "is an old LocalResponseNorm, whose sums keep the first channel; write LocalResponseNorm"},
        {"NLLLoss2d", "is PyTorch's old name of NLLLoss, which takes images too; write NLLLoss"},
        {"TripletMarginWithDistanceLoss",
         "takes a Python function as its distance; write TripletMarginLoss, which it is without one"},
    };
    for (auto family : {lazy, holders})
      for (RefusedType& row : family()) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

std::optional<std::string> why_refused(const std::string& name) {
  const auto found = std::ranges::find(refused_types(), name, &RefusedType::name);
  return found == refused_types().end() ? std::nullopt : std::optional(found->why);
}

}  // namespace sheaf::frontend
