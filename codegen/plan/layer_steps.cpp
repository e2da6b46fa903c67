#include "codegen/plan/layer_steps.h"

#include "ir/Nn/Nn.h"
#include "ir/Nn/Operands.h"
#include "runtime/ops/traits.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sheaf::codegen {

Result<void> LayerSteps::add_steps(ProgramBuilder& program, Operation& op, const Place& place) {
  Step step = program.step_for(op, place);
  auto type = op.getAttrOfType<StringAttr>(nn::kType);
  step.type = StringRef(type ? type.getValue() : op.getName().stripDialect()).lower();
  // The names of movements are reserved for data movement: torch.gather isn't a gather.
  if (const auto same = op_from_name(step.type); same && moves(*same)) step.type = op.getName().stripDialect().str();
  step.attributes = nn::attributes_of(op);
  step.roles = nn::operand_roles(op);
  if (isa<nn::DropoutOp, nn::IdentityOp>(op)) step.notes.push_back("it returns its input unchanged, so no step of it is left");
  for (mlir::Value operand : op.getOperands()) step.inputs.push_back(program.id(operand));
  for (mlir::Value result : op.getResults()) step.outputs.push_back(program.new_value(result, place));
  program.add(std::move(step));
  return {};
}

}  // namespace sheaf::codegen
