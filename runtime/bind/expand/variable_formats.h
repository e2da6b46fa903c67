// The format that a variable is kept in: the one that its first reader wants, so no step reorders it for that reader; if that
// reader casts it (a weight of a bf16 plan), the one that the reader of the cast wants. Its gradient mostly arrives in that
// format too, and updates, which are element by element, work in any.
#pragma once

#include "runtime/bind/expand/builder.h"

#include <map>
#include <string>
#include <vector>

namespace sheaf {

class VariableFormats {
 public:
  explicit VariableFormats(Builder& builder) : builder_(builder) {}

  /// The variable `root` of a program with updates: from here on its format may be settled, unless it is settled already or a
  /// generated kernel indexes its elements.
  void add(TensorId root, const std::string& name);
  /// Keeps the variable's format as it is.
  void fix(TensorId root) { unsettled_.erase(root); }

  /// Notes that `tensor` is read as `want`: a variable that nobody has read yet is kept in that format from here on, if it can
  /// be.
  void settle(TensorId tensor, const TensorSpec& want, const Spot& spot);
  /// Whether a kernel makes its output only from the elements of `input`, both plain by now (a cast), and `input` is a variable
  /// read only by casts so far: it will be kept in the format in which the cast value is read.
  bool follows_cast(const Step& step, TensorId input, const Prepared& prepared) const;
  /// `output` is such a cast of `input`.
  void note_cast(TensorId input, TensorId output);
  /// `copy` is `source` in another memory, brought by `instance`.
  void note_copy(TensorId source, TensorId copy, InstanceId instance);
  /// The formats of a kernel's inputs, with unsettled ones in the format of the others.
  void offer(const std::vector<TensorId>& inputs, std::vector<TensorSpec>& specs);

 private:
  /// A variable whose format isn't settled, with its views and copies on other devices of its kind: all have one format.
  struct Unsettled {
    std::vector<TensorId> roots;        ///< the variable's and its copies'
    std::vector<TensorId> casts;        ///< those of values cast from one of them, and of their copies
    std::vector<InstanceId> instances;  ///< that make the copies of the variable
  };
  bool read_by_index(const std::string& name) const;
  /// The one that `tensor` belongs to; else null.
  Unsettled* unsettled(TensorId tensor);

  Builder& builder_;
  std::map<TensorId, Unsettled> unsettled_;  ///< by the variable's root
};

}  // namespace sheaf
