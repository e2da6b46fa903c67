#include "runtime/bind/narrow_reads.h"

#include "runtime/plan/narrow_read.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {

NarrowReads::NarrowReads(const Program& program) : program_(program), readers_(program.values.size()) {
  for (const StepId id : IdRange<StepId>(program.steps.size())) {
    const auto& inputs = program.steps[id.index()].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) readers_[ValueId(inputs[i])].push_back({id, i});
  }
  for (const Output& output : program.outputs) readers_[ValueId(output.value)].push_back({});
  for (const Update& update : program.updates) readers_[ValueId(update.value)].push_back({});
}

bool NarrowReads::all_take(ValueId value, DType dtype, const std::function<bool(StepId)>& alone) const {
  const auto takes = [&](const Reader& reader) {
    if (!reader.step) return false;
    const Step& step = program_.steps[reader.step.index()];
    if (step.op == Op::nonfinite) return true;
    if (step.op == Op::reduce) return alone(reader.step) && all_take(ValueId(step.outputs[0]), dtype, alone);
    const auto narrow = narrow_read(step);
    return step.op == Op::kernel && narrow && narrow->input == reader.input && narrow->dtype == dtype;
  };
  const auto& readers = readers_[value];
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), takes);
}

}  // namespace sheaf
