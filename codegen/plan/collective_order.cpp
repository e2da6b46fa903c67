#include "codegen/plan/collective_order.h"

#include "runtime/plan/op_list.h"

#include <algorithm>
#include <numeric>

namespace sheaf::codegen {
namespace {

constexpr size_t kNone = SIZE_MAX;

/// For each value, the step that makes it and the first one that reads it.
struct Ends {
  std::vector<size_t> maker, reader;

  explicit Ends(const Program& program) : maker(program.values.size(), kNone), reader(program.values.size(), kNone) {
    for (size_t i = 0; i < program.steps.size(); ++i) {
      for (const int output : program.steps[i].outputs) maker[static_cast<size_t>(output)] = i;
      for (const int input : program.steps[i].inputs)
        reader[static_cast<size_t>(input)] = std::min(reader[static_cast<size_t>(input)], i);
    }
  }
};

}  // namespace

void place_collectives(Program& program) {
  const Ends ends(program);
  // Steps that stay have even positions, which leaves room between them.
  std::vector<size_t> position(program.steps.size());
  for (size_t i = 0; i < position.size(); ++i) {
    const Step& step = program.steps[i];
    position[i] = 2 * i + 2;
    if (step.op == Op::all_gather) {
      const size_t reader = ends.reader[static_cast<size_t>(step.outputs[0])];
      if (reader != kNone) position[i] = 2 * reader + 1;
    } else if (step.op == Op::reduce_scatter) {
      const size_t maker = ends.maker[static_cast<size_t>(step.inputs[0])];
      position[i] = maker == kNone ? 1 : 2 * maker + 3;
    }
  }
  std::vector<size_t> order(position.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return position[a] < position[b]; });
  std::vector<Step> steps;
  for (const size_t i : order) steps.push_back(std::move(program.steps[i]));
  program.steps = std::move(steps);
}

}  // namespace sheaf::codegen
