// Functions of one element of each operand, one row each: the value and the derivatives. nn.map takes any of them by name, so a
// new one needs a row here and a row of layers (frontend/layers_activation.cpp, layers_elementwise.cpp).
#pragma once

#include "ir/ScalarExpression.h"

#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <vector>

namespace sheaf::ir {

struct ElementFunction {
  /// The element types it takes. All operands have one type, except the condition of a choice, which is a bool.
  enum Takes {
    floats,
    signed_numbers,  ///< floats, int64 or int32
    any              ///< bools too
  };
  using Expression = scalar::Expression;
  using Operands = llvm::ArrayRef<Expression>;
  using Numbers = llvm::ArrayRef<double>;
  /// y from the operands and the function's own numbers, such as a slope.
  using Of = std::function<Expression(Operands x, Numbers n)>;
  /// dy · ∂y/∂x[operand]. The backward pass needn't keep what this doesn't use.
  using Slope = std::function<Expression(unsigned operand, Expression dy, Operands x, Expression y, Numbers n)>;

  llvm::StringRef name;  ///< "softplus"
  unsigned operands;
  Of of;
  Slope slope;           ///< null: 0 wherever a derivative exists
  unsigned numbers = 0;  ///< how many of its own; if the last operand is a number, there is one more for it
  Takes takes = floats;
  bool boolean = false;                         ///< the result is a bool, whatever the operands are; else it has their type
  bool wide = false;                            ///< computed in f32 by torch.autocast
  bool by_channel = false;                      ///< the second operand runs along dimension 1
  bool choice = false;                          ///< the first operand is a bool
  llvm::StringRef loss = {};                    ///< the `type` of this loss in a model file
  std::vector<llvm::StringRef> arguments = {};  ///< of a loss: the model file's names of its numbers
};

/// The functions that are losses, and parts of them. Operands are those of the loss, followed by a pos_weight if there is one.
llvm::ArrayRef<ElementFunction> element_losses();

/// The row of a name; null if there is none.
const ElementFunction* find_element_function(llvm::StringRef name);

/// What the slope along `operand` reads: the numbers of the operands, and the number of operands for the result.
llvm::SmallVector<int64_t> read_by_slope(mlir::MLIRContext* context, const ElementFunction& function, unsigned operand,
                                         llvm::ArrayRef<double> numbers);

}  // namespace sheaf::ir
