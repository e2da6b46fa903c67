// A model's weights from the caller: which tensor is which parameter, and what doesn't fit.
#include "runtime/base/exception.h"
#include "runtime/base/parameter_names.h"
#include "runtime/base/suggest.h"
#include "runtime/data/convert.h"
#include "runtime/session/model_state.h"

#include <array>
#include <cstring>

namespace sheaf {
namespace {

bool counts_batches(const std::string& name) {
  constexpr std::string_view suffix = "num_batches_tracked";
  return name.size() >= suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

/// What doesn't fit, a list for each way of not fitting, as notes of one error: the first few of each, and how many more.
class Mismatches {
 public:
  enum Kind { missing, superfluous, misshapen, other_dtype, doubled, untied, kKinds };
  static constexpr size_t kShown = 5;

  void add(Kind kind, std::string text) {
    if (++counts_[kind] <= kShown) shown_[kind].push_back(std::move(text));
  }
  size_t count(Kind kind) const { return counts_[kind]; }
  bool full(Kind kind) const { return counts_[kind] >= kShown; }
  bool any() const {
    for (const size_t count : counts_)
      if (count > 0) return true;
    return false;
  }

  Error error(const std::string& model) const {
    static constexpr const char* kNames[kKinds] = {"missing",          "superfluous", "misshapen",
                                                   "of another dtype", "given twice", "tied, but of different values"};
    std::string list;
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (counts_[kind] > 0) list += (list.empty() ? "" : ", ") + std::to_string(counts_[kind]) + " " + kNames[kind];
    }
    Error error("the weights don't fit model '" + model + "': " + list);
    for (size_t kind = 0; kind < kKinds; ++kind) {
      for (const std::string& text : shown_[kind]) error.note(std::string(kNames[kind]) + ": " + text);
      if (counts_[kind] > kShown)
        error.note(std::string(kNames[kind]) + ": " + std::to_string(counts_[kind] - kShown) + " more");
    }
    return error;
  }

 private:
  std::array<size_t, kKinds> counts_{};
  std::array<std::vector<std::string>, kKinds> shown_;
};

/// The tensors of one set_parameters() or update_parameters(), each at the parameter that its name means.
class Assignment {
 public:
  enum Wanted {
    all,
    some,
    fitting
  };  ///< of the parameters: all are to be given, or only some, or of those what has their shape
  struct Found {
    const TensorView* tensor = nullptr;
    const void* data = nullptr;  ///< the tensor's, or what it was converted to; null: it doesn't fit
  };

  Assignment(const Plan& plan, std::span<const TensorView> tensors, Wanted wanted)
      : plan_(plan), wanted_(wanted), found_(plan.weights().size()), tied_(plan.weights().size()) {
    for (size_t i = 0; i < plan.weights().size(); ++i) {
      known_.push_back(plan.weights()[i].name);
      parameter_of_.push_back(i);
    }
    for (size_t i = 0; i < plan.weights().size(); ++i) {
      for (const std::string& alias : plan.weights()[i].aliases) {
        known_.push_back(alias);
        parameter_of_.push_back(i);
      }
    }
    std::vector<std::string> given;
    for (const TensorView& tensor : tensors) given.push_back(tensor.name);
    const auto matches = match_names(known_, given);
    for (size_t i = 0; i < tensors.size(); ++i) place(tensors[i], matches[i]);
    for (size_t i = 0; i < found_.size(); ++i) {
      settle(i);
      if (found_[i].tensor || counts_batches(plan.weights()[i].name)) continue;
      match_.missing.push_back(plan.weights()[i].name);
      if (wanted_ == all) {
        mismatches_.add(Mismatches::missing,
                        "'" + plan.weights()[i].name + "', " + described(plan.weights()[i].dtype, plan.weights()[i].shape));
      }
    }
    // Nothing fits by its name: a pair of examples says more than a list.
    if (mismatches_.count(Mismatches::superfluous) > 0 && mismatches_.count(Mismatches::missing) == plan.weights().size()) {
      hint_ = "no name is one of this model's, which has '" + plan.weights()[0].name + "' where the weights have '" +
              match_.unexpected[0] +
              "': names are taken with or without `module.` and with or without what all of them begin with; rename the rest";
    }
  }

  Result<void> check() const {
    if (failure_) return *failure_;
    if (!mismatches_.any()) return {};
    Error error = mismatches_.error(plan_.name);
    if (!hint_.empty()) error.note(hint_);
    return error;
  }
  /// Of parameter `index`; null: it isn't given.
  const void* data(size_t index) const { return found_[index].data; }
  const ParameterMatch& match() const { return match_; }

 private:
  void place(const TensorView& tensor, std::optional<size_t> match) {
    if (!match) {
      if (counts_batches(tensor.name)) return;
      match_.unexpected.push_back(tensor.name);
      if (wanted_ != all) return;
      const auto near = mismatches_.full(Mismatches::superfluous) ? std::nullopt : nearest(tensor.name, known_);
      mismatches_.add(Mismatches::superfluous, "'" + tensor.name + "'" + (near ? "; did you mean '" + *near + "'?" : ""));
      return;
    }
    const size_t index = parameter_of_[*match];
    const Parameter& parameter = plan_.weights()[index];
    const bool alias = *match >= plan_.weights().size();
    Found& found = (alias ? tied_ : found_)[index];
    if (found.tensor && !alias) {
      mismatches_.add(Mismatches::doubled,
                      "'" + parameter.name + "', as '" + found.tensor->name + "' and '" + tensor.name + "'");
    }
    found = {&tensor, nullptr};
    const std::string both = "'" + tensor.name + "' is " + described(tensor.dtype, tensor.shape) + "; expected " +
                             described(parameter.dtype, parameter.shape);
    if (tensor.shape != parameter.shape) {
      if (wanted_ != fitting) return mismatches_.add(Mismatches::misshapen, both);
      return match_.misshapen.push_back(both);
    }
    found.data = tensor.data;
    if (tensor.dtype == parameter.dtype) return;
    found.data = nullptr;
    if (!is_floating(tensor.dtype) || !is_floating(parameter.dtype)) return mismatches_.add(Mismatches::other_dtype, both);
    const auto* bytes = static_cast<const std::byte*>(tensor.data);
    HostTensor copy{tensor.dtype, tensor.shape, {bytes, bytes + plain_tensor(tensor.dtype, tensor.shape).bytes}};
    if (auto converted = convert(std::move(copy), parameter.dtype)) {
      converted_.push_back(std::make_unique<HostTensor>(std::move(*converted)));
      found.data = converted_.back()->bytes.data();
    } else if (!failure_) {
      failure_ = converted.error();
    }
  }

  /// PyTorch saves tied parameters under all their names.
  void settle(size_t index) {
    const Parameter& parameter = plan_.weights()[index];
    Found& own = found_[index];
    const Found& tied = tied_[index];
    if (!tied.tensor) return;
    if (!own.tensor) {
      own = tied;
    } else if (own.data && tied.data) {
      const size_t bytes = plain_tensor(parameter.dtype, parameter.shape).bytes;
      if (bytes > 0 && std::memcmp(own.data, tied.data, bytes) != 0) {
        mismatches_.add(Mismatches::untied, "'" + own.tensor->name + "' and '" + tied.tensor->name + "'");
      }
    }
  }

  const Plan& plan_;
  Wanted wanted_;
  ParameterMatch match_;
  std::vector<std::string> known_;    ///< the parameters' names, then the names of what is tied to them
  std::vector<size_t> parameter_of_;  ///< of each of them
  std::vector<Found> found_, tied_;
  std::vector<std::unique_ptr<HostTensor>> converted_;
  Mismatches mismatches_;
  std::optional<Error> failure_;
  std::string hint_;
};

}  // namespace

Result<void> Model::set_parameters(std::span<const TensorView> tensors) try {
  const auto& parameters = state_->parameters;
  const Assignment assignment(state_->plan, tensors, Assignment::all);
  SHEAF_TRY(assignment.check());
  const auto lock = state_->store->lock();
  std::vector<char> zeros;
  for (size_t i = 0; i < parameters.size(); ++i) {
    SHEAF_ASSIGN(auto variable, state_->store->variable(parameters[i].name));
    const void* data = assignment.data(i);
    if (!data) zeros.assign(plain_tensor(parameters[i].dtype, parameters[i].shape).bytes, 0);
    SHEAF_TRY(state_->store->write(variable, data ? data : zeros.data()));
  }
  state_->store->changed();
  return {};
} catch (...) {
  return error_of_exception();
}

Result<ParameterMatch> Model::update_parameters(std::span<const TensorView> tensors, Misshapen misshapen) try {
  const Assignment assignment(state_->plan, tensors, misshapen == Misshapen::refused ? Assignment::some : Assignment::fitting);
  SHEAF_TRY(assignment.check());
  const ParameterMatch& match = assignment.match();
  const std::vector<std::string>& lacking = match.missing.empty() ? match.misshapen : match.missing;
  if (!lacking.empty() && !state_->store->set()) {
    return Error("weights were never set, and of those given now " + std::to_string(lacking.size()) +
                 " are missing or misshapen, the first of them " + lacking[0])
        .note("initialise_parameters() first");
  }
  const auto lock = state_->store->lock();
  for (size_t i = 0; i < state_->parameters.size(); ++i) {
    if (!assignment.data(i)) continue;
    SHEAF_ASSIGN(auto variable, state_->store->variable(state_->parameters[i].name));
    SHEAF_TRY(state_->store->write(variable, assignment.data(i)));
  }
  state_->store->changed();
  return match;
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
