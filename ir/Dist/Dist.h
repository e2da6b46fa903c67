// C++ declarations of the dist dialect.
#pragma once

#include "runtime/plan/op.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sheaf::dist {
// sheaf has its own Location and Value (runtime/); here the names are MLIR's.
using mlir::Location;
using mlir::Value;
}  // namespace sheaf::dist

#include "ir/Dist/DistDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/Dist/DistAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/Dist/DistTypes.h.inc"
#define GET_OP_CLASSES
#include "ir/Dist/DistOps.h.inc"

namespace sheaf::dist {

/// The group of a split, replicated, partial or local layout, or null.
mlir::FlatSymbolRefAttr group_of(mlir::Attribute layout);

/// The plan operation of a movement of this dialect, which has the same name; none for other ops.
std::optional<Op> movement_of(mlir::Operation& op);

/// "the host", "device 1", "each replica of @net": a layout in words, for reasons and messages.
std::string in_words(mlir::Attribute layout);

}  // namespace sheaf::dist
