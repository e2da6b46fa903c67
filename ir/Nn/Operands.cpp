#include "ir/Nn/Operands.h"

#include "ir/Nn/ShapeRules.h"
#include "runtime/ops/recurrent.h"
#include "runtime/plan/op_list.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sheaf::nn {
namespace {

Json json_of(Attribute attribute) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    if (integer.getType().isInteger(1)) return integer.getValue().getBoolValue();
    return integer.getInt();
  }
  if (auto real = dyn_cast<FloatAttr>(attribute)) return real.getValueAsDouble();
  if (auto text = dyn_cast<StringAttr>(attribute)) return text.str();
  if (isa<UnitAttr>(attribute)) return true;
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute)) return std::vector<int64_t>(list.asArrayRef());
  Json object = Json::object();
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute))
    for (NamedAttribute entry : dictionary) object[entry.getName().str()] = json_of(entry.getValue());
  return object;
}

/// Collects the roles of the operands that are present.
struct Roles {
  std::vector<std::string> names;
  Roles& operator()(const char* name, mlir::Value value) {
    if (value) names.push_back(name);
    return *this;
  }
  Roles& weights(auto op) {
    const RecurrentSizes sizes{.hidden = static_cast<int64_t>(op.getHiddenSize()),
                               .layers = static_cast<int64_t>(op.getNumLayers()),
                               .directions = op.getBidirectional() ? 2 : 1,
                               .bias = op.getBias()};
    for (RecurrentWeight& weight : recurrent_weights(sizes, Extent(1))) names.push_back(std::move(weight.role));
    return *this;
  }
};

/// For an operation that always has all of its operands.
std::vector<std::string> all_roles(Op op) {
  std::vector<std::string> names;
  for (const RoleRow& role : traits(op).roles) names.emplace_back(role.name);
  return names;
}

/// The type of an op's results. If x and the weight have two floating-point types, it is the one that holds both, and
/// nn-set-precision casts them to it. Biases stay f32 beside operands of any type and don't affect it.
mlir::Type product_type(Op kind, ArrayRef<std::string> roles, ArrayRef<ir::TensorShape> operands) {
  size_t multiplied = 1;
  if (kind == Op::linear || kind == Op::conv || kind == Op::conv_transpose || kind == Op::matmul) multiplied = 2;
  if (kind == Op::lstm || kind == Op::gru || kind == Op::rnn)
    multiplied = 2 + llvm::count_if(roles, [](const std::string& role) { return role == "h0" || role == "c0"; });
  mlir::Type element = operands[0].element;
  for (const ir::TensorShape& operand : operands.take_front(multiplied)) element = promoted(element, operand.element);
  return element;
}

}  // namespace

std::optional<Op> library_op(Operation& op) {
  const auto known = op_from_name(op.getName().stripDialect().str());
  return known && is_library(*known) ? known : std::nullopt;
}

std::optional<int64_t> spatial_dims(Operation& op) {
  const auto kind = library_op(op);
  if (!kind) return std::nullopt;
  for (const AttributeRow& row : traits(*kind).attributes)
    if (auto list = op.getAttrOfType<DenseI64ArrayAttr>(StringRef(row.name)); list && row.kind == AttributeRow::per_dimension)
      return list.size();
  return std::nullopt;
}

Json attributes_of(Operation& op) {
  Json json = Json::object();
  for (NamedAttribute entry : op.getAttrs()) {
    StringRef name = entry.getName();
    if (name.contains('.') || name == "operandSegmentSizes") continue;
    json[name.str()] = json_of(entry.getValue());
  }
  return json;
}

std::vector<std::string> operand_roles(Operation& op) {
  return llvm::TypeSwitch<Operation*, std::vector<std::string>>(&op)
      .Case([](LinearOp o) {
        return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias())("residual", o.getResidual()).names;
      })
      .Case([](ConvOp o) {
        return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias())("residual", o.getResidual()).names;
      })
      .Case([](ConvTransposeOp o) { return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias()).names; })
      .Case([](BatchNormOp o) {
        return Roles()("x", o.getX())("mean", o.getMean())("var", o.getVar())("weight", o.getWeight())("bias", o.getBias())
            .names;
      })
      .Case([](LayerNormOp o) { return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias()).names; })
      .Case([](GroupNormOp o) { return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias()).names; })
      .Case([](EmbeddingOp o) { return Roles()("x", o.getX())("weight", o.getWeight()).names; })
      .Case([](LstmOp o) { return Roles()("x", o.getX())("h0", o.getH0())("c0", o.getC0()).weights(o).names; })
      .Case([](GruOp o) { return Roles()("x", o.getX())("h0", o.getH0()).weights(o).names; })
      .Case([](RnnOp o) { return Roles()("x", o.getX())("h0", o.getH0()).weights(o).names; })
      .Case([](MultiheadAttentionOp o) {
        return Roles()("query", o.getQuery())("key", o.getKey())("value", o.getValue())("in_proj_weight", o.getInProjWeight())(
                   "in_proj_bias", o.getInProjBias())("out_proj.weight", o.getOutProjWeight())(
                   "out_proj.bias", o.getOutProjBias())("attn_mask", o.getAttnMask())("key_padding_mask", o.getKeyPaddingMask())
            .names;
      })
      .Case([](AttentionOp o) {
        return Roles()("query", o.getQuery())("key", o.getKey())("value", o.getValue())("mask", o.getMask()).names;
      })
      .Case([](RmsNormOp o) { return Roles()("x", o.getX())("weight", o.getWeight()).names; })
      .Case([](EmbeddingBackwardOp o) { return Roles()("x", o.getX())("dy", o.getDy()).names; })
      .Case([](BatchNormTrainOp o) { return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias()).names; })
      .Case([](BatchNormBackwardOp o) {
        return Roles()("x", o.getX())("dy", o.getDy())("mean", o.getMean())("var", o.getVar())("weight", o.getWeight())(
                   "workspace", o.getWorkspace())
            .names;
      })
      .Case([](LstmTrainOp o) { return Roles()("x", o.getX())("h0", o.getH0())("c0", o.getC0()).weights(o).names; })
      .Case([](GruTrainOp o) { return Roles()("x", o.getX())("h0", o.getH0()).weights(o).names; })
      .Case([](RnnTrainOp o) { return Roles()("x", o.getX())("h0", o.getH0()).weights(o).names; })
      .Case([](LstmBackwardOp o) {
        return Roles()("x", o.getX())("h0", o.getH0())("c0", o.getC0())
            .weights(o)("y", o.getY())("h", o.getHn())("c", o.getCn())("workspace", o.getWorkspace())("dy", o.getDy())(
                "dh", o.getDh())("dc", o.getDc())
            .names;
      })
      .Case([](GruBackwardOp o) {
        return Roles()("x", o.getX())("h0", o.getH0())
            .weights(o)("y", o.getY())("h", o.getHn())("workspace", o.getWorkspace())("dy", o.getDy())("dh", o.getDh())
            .names;
      })
      .Case([](RnnBackwardOp o) {
        return Roles()("x", o.getX())("h0", o.getH0())
            .weights(o)("y", o.getY())("h", o.getHn())("workspace", o.getWorkspace())("dy", o.getDy())("dh", o.getDh())
            .names;
      })
      .Case([](NonfiniteOp o) { return many_roles(traits(Op::nonfinite).roles.front().name, o.getValues().size()); })
      .Default([](Operation* o) {
        if (const auto kind = library_op(*o)) return all_roles(*kind);
        std::vector<std::string> names = {"x"};
        for (unsigned i = 1; i < o->getNumOperands(); ++i) names.push_back("x" + std::to_string(i));
        names.resize(o->getNumOperands());
        return names;
      });
}

LogicalResult library_shapes(Operation* op, ArrayRef<ir::TensorShape> operands, SmallVectorImpl<ir::TensorShape>& results) {
  const Op kind = *library_op(*op);
  const std::vector<std::string> roles = operand_roles(*op);
  if (roles.size() > operands.size()) return op->emitError("needs an operand '") << roles[operands.size()] << "'";
  if (roles.size() < operands.size())
    return op->emitError("expects ") << roles.size() << " operands, but got " << operands.size();
  std::vector<Shape> inputs;
  for (auto [role, operand] : llvm::zip(roles, operands)) {
    if (role != kWorkspaceRole && failed(require_float(op, operand))) return failure();
    inputs.emplace_back(operand.dims.begin(), operand.dims.end());
  }
  const Json attributes = attributes_of(*op);
  auto shapes = result_shapes({.op = kind, .attributes = attributes, .roles = roles, .inputs = inputs, .unbatched = true});
  if (!shapes) return op->emitError(shapes.error().message());
  if (shapes->size() != op->getNumResults())
    return op->emitError("expects ") << shapes->size() << " results by its operands and attributes, but has "
                                     << op->getNumResults();
  const mlir::Type element = product_type(kind, roles, operands);
  for (ResultShape& result : *shapes) {
    if (result.elements == ResultShape::workspace) {
      results.push_back(workspace_shape(op->getContext()));
      continue;
    }
    ir::TensorShape shape{result.elements == ResultShape::sums ? sum_type(element) : element, {}};
    llvm::append_range(shape.dims, result.shape);
    results.push_back(std::move(shape));
  }
  return success();
}

}  // namespace sheaf::nn
