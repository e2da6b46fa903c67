#include "passes/Arguments.h"

namespace sheaf::passes {

using namespace mlir;

BlockArgument find_argument(func::FuncOp function, StringRef role, StringRef name) {
  auto is = [&](unsigned i, StringRef attribute, StringRef value) {
    auto known = function.getArgAttrOfType<StringAttr>(i, attribute);
    return known && known.getValue() == value;
  };
  for (BlockArgument argument : function.getArguments())
    if (is(argument.getArgNumber(), nn::kRole, role) && is(argument.getArgNumber(), nn::kName, name)) return argument;
  return {};
}

llvm::StringMap<BlockArgument> arguments_of(func::FuncOp function, StringRef role) {
  llvm::StringMap<BlockArgument> arguments;
  for (BlockArgument argument : function.getArguments()) {
    auto known = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole);
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kName);
    if (known && name && known.getValue() == role) arguments[name.getValue()] = argument;
  }
  return arguments;
}

BlockArgument add_argument(func::FuncOp function, mlir::Type type, StringRef role, StringRef name) {
  Builder builder(function.getContext());
  unsigned index = function.getNumArguments();
  function.insertArgument(index, type,
                          builder.getDictionaryAttr({builder.getNamedAttr(nn::kRole, builder.getStringAttr(role)),
                                                     builder.getNamedAttr(nn::kName, builder.getStringAttr(name))}),
                          function.getLoc());
  return function.getArgument(index);
}

}  // namespace sheaf::passes
