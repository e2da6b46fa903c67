// A loss that is not a number, or infinite, fails the step: what waits for this one is then left out.
#include <cmath>

#include "runtime/cpu/ops/choice.h"

namespace sheaf {
namespace {

class CheckFinite final : public Executable {
 public:
  void run(void* const* buffers, void*) override { finite_ = std::isfinite(*static_cast<const float*>(buffers[0])); }
  bool failed(int) const override { return !finite_; }
  std::string failure(int) const override { return finite_ ? "" : "the loss is not finite"; }

 private:
  bool finite_ = true;
};

}  // namespace

Prepared prepare_check_finite(const Operation& operation) {
  require(operation.operand("x").dims.empty() && operation.request.inputs.size() == 1, "expected one input, a scalar");
  require(operation.request.outputs.empty(), "it has no output");
  Prepared prepared = operation.prepared();
  prepared.executable = std::make_unique<CheckFinite>();
  take_loop(prepared, "it looks at one number, which no library is needed for");
  prepared.can_fail = true;
  return prepared;
}

}  // namespace sheaf
