#include "codegen/plan/layer_steps.h"

#include "ir/Nn/Nn.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace sheaf::codegen {
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

std::vector<std::string> recurrent_weight_names(int64_t layers, bool bidirectional, bool bias) {
  std::vector<std::string> names;
  for (int64_t layer = 0; layer < layers; ++layer)
    for (const char* direction : {"", "_reverse"}) {
      if (*direction && !bidirectional) continue;
      for (const char* name : {"weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"})
        if (bias || name[0] == 'w') names.push_back(name + std::to_string(layer) + direction);
    }
  return names;
}

/// Collects the roles of the operands that are there.
struct Roles {
  std::vector<std::string> names;
  Roles& operator()(const char* name, mlir::Value value) {
    if (value) names.push_back(name);
    return *this;
  }
  Roles& weights(auto op) {
    llvm::append_range(names, recurrent_weight_names(op.getNumLayers(), op.getBidirectional(), op.getBias()));
    return *this;
  }
};

}  // namespace

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
  using namespace nn;
  return llvm::TypeSwitch<Operation*, std::vector<std::string>>(&op)
      .Case([](LinearOp o) {
        return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias())("residual", o.getResidual()).names;
      })
      .Case([](ConvOp o) {
        return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias())("residual", o.getResidual()).names;
      })
      .Case([](ConvTransposeOp o) { return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias()).names; })
      .Case([](MatMulOp o) { return Roles()("a", o.getA())("b", o.getB()).names; })
      .Case([](BatchNormOp o) {
        return Roles()("x", o.getX())("mean", o.getMean())("var", o.getVar())("weight", o.getWeight())("bias", o.getBias()).names;
      })
      .Case([](LayerNormOp o) { return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias()).names; })
      .Case([](GroupNormOp o) { return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias()).names; })
      .Case([](EmbeddingOp o) { return Roles()("x", o.getX())("weight", o.getWeight()).names; })
      .Case([](LstmOp o) { return Roles()("x", o.getX())("h0", o.getH0())("c0", o.getC0()).weights(o).names; })
      .Case([](GruOp o) { return Roles()("x", o.getX())("h0", o.getH0()).weights(o).names; })
      .Case([](MultiheadAttentionOp o) {
        return Roles()("query", o.getQuery())("key", o.getKey())("value", o.getValue())("in_proj_weight", o.getInProjWeight())(
                          "in_proj_bias", o.getInProjBias())("out_proj.weight", o.getOutProjWeight())("out_proj.bias", o.getOutProjBias())
            .names;
      })
      .Case<ConvBackwardDataOp, LinearBackwardDataOp>(
          [](auto o) { return Roles()("dy", o.getDy())("weight", o.getWeight()).names; })
      .Case<ConvBackwardWeightOp, LinearBackwardWeightOp, EmbeddingBackwardOp>(
          [](auto o) { return Roles()("x", o.getX())("dy", o.getDy()).names; })
      .Case([](BatchNormTrainOp o) { return Roles()("x", o.getX())("weight", o.getWeight())("bias", o.getBias()).names; })
      .Case([](BatchNormBackwardOp o) {
        return Roles()("x", o.getX())("dy", o.getDy())("mean", o.getMean())("var", o.getVar())("weight", o.getWeight())(
                          "workspace", o.getWorkspace())
            .names;
      })
      .Case([](MaxPoolBackwardOp o) { return Roles()("dy", o.getDy())("workspace", o.getWorkspace()).names; })
      .Case<AvgPoolBackwardOp, AdaptiveAvgPoolBackwardOp>([](auto o) { return Roles()("dy", o.getDy()).names; })
      .Case([](LstmTrainOp o) { return Roles()("x", o.getX())("h0", o.getH0())("c0", o.getC0()).weights(o).names; })
      .Case([](GruTrainOp o) { return Roles()("x", o.getX())("h0", o.getH0()).weights(o).names; })
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
      .Default([](Operation* o) {
        std::vector<std::string> names = {"x"};
        for (unsigned i = 1; i < o->getNumOperands(); ++i) names.push_back("x" + std::to_string(i));
        names.resize(o->getNumOperands());
        return names;
      });
}

Result<void> LayerSteps::add_steps(ProgramBuilder& program, Operation& op, const Place& place) {
  Step step = program.step_for(op, place);
  auto type = op.getAttrOfType<StringAttr>(nn::kType);
  step.op = StringRef(type ? type.getValue() : op.getName().stripDialect()).lower();
  step.attributes = attributes_of(op);
  step.roles = operand_roles(op);
  for (mlir::Value operand : op.getOperands()) step.inputs.push_back(program.id(operand));
  for (mlir::Value result : op.getResults()) step.outputs.push_back(program.new_value(result, place));
  program.add(std::move(step));
  return {};
}

}  // namespace sheaf::codegen
