// Parameters, buffers and the optimiser's state in a bound program.
#pragma once

#include "runtime/bind/expand/variable_formats.h"

#include <map>
#include <string>

namespace sheaf {

class Weights {
 public:
  Weights(Builder& builder, VariableFormats& formats) : builder_(builder), formats_(formats) {}

  /// The root of the weight `name`: a variable in a program with updates. Where nobody has settled yet where it lives, it lives
  /// where `spot` is. Errors: a variable that lives on no device of this list.
  Result<TensorId> find(const std::string& name, const Spot& spot);

 private:
  Builder& builder_;
  VariableFormats& formats_;
  std::map<std::string, TensorId> roots_;
};

}  // namespace sheaf
