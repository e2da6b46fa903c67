// The format that a variable is kept in: what the operation that reads it first asks for, so that no step reorders it for
// that reader; where that casts it (a weight of a bf16 plan), what the one asks for that reads it cast. Its gradient mostly
// comes in that format too, and updates, which are element by element, work in any.
#pragma once

#include "runtime/bind/expand/builder.h"

#include <map>
#include <string>
#include <vector>

namespace sheaf {

class VariableFormats {
 public:
  explicit VariableFormats(Builder& builder) : builder_(builder) {}

  /// The variable `root` of a program with updates: from here on its format may be settled, unless it is settled already or
  /// some generated kernel finds its elements by their indices.
  void add(TensorId root, const std::string& name);
  /// It is kept as it is.
  void fix(TensorId root) { unsettled_.erase(root); }

  /// Notes that `tensor` is read as `want`: a variable that nobody has read yet is kept so from here on, where that will do.
  void settle(TensorId tensor, const TensorSpec& want, const Spot& spot);
  /// Whether a kernel makes its output of the elements of `input` alone, both plain by now (a cast), and that is a variable
  /// that nobody has read but to cast it: it will be kept as what is cast is read.
  bool follows_cast(const Step& step, TensorId input, const Prepared& prepared) const;
  /// `output` is such a cast of `input`.
  void note_cast(TensorId input, TensorId output);
  /// `copy` is `source` in another memory, brought by `instance`.
  void note_copy(TensorId source, TensorId copy, InstanceId instance);
  /// How the inputs of a kernel are at hand, where those that are unsettled lie as the others do.
  void offer(const std::vector<TensorId>& inputs, std::vector<TensorSpec>& specs);

 private:
  /// A variable whose format isn't settled, with its views and copies on other devices of its kind: all lie alike.
  struct Unsettled {
    std::vector<TensorId> roots;        ///< the variable's, and those of copies
    std::vector<TensorId> casts;        ///< those of values cast from one of them, and of their copies
    std::vector<InstanceId> instances;  ///< that make the copies of the variable
  };
  bool read_by_index(const std::string& name) const;
  /// Where `tensor` is one of these; else null.
  Unsettled* unsettled(TensorId tensor);

  Builder& builder_;
  std::map<TensorId, Unsettled> unsettled_;  ///< by the variable's root
};

}  // namespace sheaf
