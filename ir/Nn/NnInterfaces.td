// Interfaces of nn ops: passes and code generation learn everything about an op through them.
#ifndef SHEAF_NN_INTERFACES_TD
#define SHEAF_NN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Nn_ShapeOpInterface : OpInterface<"ShapeOpInterface"> {
  let cppNamespace = "::sheaf::nn";
  let description = [{
    The op's shape function, its only one: verification, shape inference and the plan's sizes all call it.
    The verifier checks the op's result types against it.
  }];
  let methods = [
    InterfaceMethod<[{
      Appends the shape of each result, given those of the operands. Emits an error that says what was found
      and what was expected, and fails, if the operands don't fit the op.
    }], "::llvm::LogicalResult", "inferShapes",
      (ins "::llvm::ArrayRef<::sheaf::ir::TensorShape>":$operands,
           "::llvm::SmallVectorImpl<::sheaf::ir::TensorShape> &":$results)>,
  ];
  let verify = [{ return ::sheaf::ir::verifyShapes($_op); }];
}

def Nn_SplitOpInterface : OpInterface<"SplitOpInterface"> {
  let cppNamespace = "::sheaf::nn";
  let description = [{
    How an op behaves when an operand is cut along a dimension: either the result is cut along a dimension too
    and each part depends only on its own part, or the op mixes the parts (a mean over that dimension, say), and
    replicas that each see a part compute something other than a device that sees the whole.
  }];
  let methods = [
    InterfaceMethod<[{
      The dimension of result 0 that is cut when operand `operand` (of rank `rank`) is cut along `dim`, or
      nullopt if the op mixes the parts.
    }], "std::optional<int64_t>", "splitDim", (ins "unsigned":$operand, "int64_t":$rank, "int64_t":$dim)>,
  ];
}

def Nn_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::sheaf::nn";
  let description = [{
    Ops whose result element depends on one element of each operand. The scalar definition is the whole op:
    kernels on every target are generated from it, alone or fused with neighbours.
  }];
  let methods = [
    InterfaceMethod<"Builds the result element from the operands' elements.",
      "::mlir::Value", "buildScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$elements)>,
    InterfaceMethod<[{
      For each dimension of the operand, the dimension of the result that it runs along. The default is
      broadcasting as in PyTorch: dimensions are aligned at the end.
    }], "::llvm::SmallVector<int64_t>", "operandDims",
      (ins "unsigned":$operand, "int64_t":$operandRank, "int64_t":$resultRank), [{}], [{
        ::llvm::SmallVector<int64_t> dims;
        for (int64_t i = 0; i < operandRank; ++i) dims.push_back(resultRank - operandRank + i);
        return dims;
      }]>,
    InterfaceMethod<[{
      Whether buildScalar needs its position: then `elements` ends with one i64 for each dimension of the
      result, the element's index. Along a dimension that a parallel region splits it is the index in the whole.
    }], "bool", "usesCoordinates", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Whether buildScalar, which uses coordinates, needs the result's sizes too, because two of them are open: then `elements`
      ends with one i64 for each dimension, behind the coordinates. Along a dimension that a region splits it is the chunk's.
    }], "bool", "usesSizes", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Whether the operand's elements are read; otherwise only its shape is used. buildScalar gets no element
      for it (a null value in its position).
    }], "bool", "operandIsRead", (ins "unsigned":$operand), [{}], [{ (void)operand; return true; }]>,
  ];
}

def Nn_GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::sheaf::nn";
  let description = [{
    An op's dual: the gradients of its operands, built from those of its results out of other nn ops (in the backward
    pass, which gets forward values through `GradientBuilder::forward`). An op with real-valued operands and
    without this interface cannot be on the way from a parameter to the loss.
  }];
  let methods = [
    InterfaceMethod<[{
      `results[i]` is the gradient of result i, null if the loss doesn't depend on it (at least one isn't null).
      Sets `operands[i]` for each operand with `gradients.needed(i)`, unless no result depends on the operand's
      elements; others may stay null. Gradients have the operand's shape; dist-differentiate converts them to its type.
      If there is no gradient, it emits an error.
    }], "void", "buildGradient",
      (ins "::sheaf::nn::GradientBuilder &":$gradients, "::mlir::ValueRange":$results,
           "::llvm::MutableArrayRef<::mlir::Value>":$operands)>,
  ];
}

#endif
