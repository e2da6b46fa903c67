// Partial sums of replicas, added up: y = ((x0 + x1) + x2) + …
//
// Not oneDNN's sum, which promises neither this order nor any number of inputs; with it, the sum of the same
// parts has the same bits everywhere.
#include <algorithm>
#include <cstring>

#include "runtime/cpu/ops/elements.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/machine/thread_pool.h"

namespace sheaf {
namespace {

constexpr int64_t block = 4096;       ///< elements added up at a time, all inputs of them, so that they stay in L1
constexpr int64_t grain = 8 * block;  ///< least elements for a thread

template <typename Element>
class Reduce final : public Executable {
 public:
  Reduce(int inputs, int64_t elements, int threads) : inputs_(inputs), elements_(elements), threads_(threads) {}
  void run(void* const* buffers, void*) override {
    auto* y = static_cast<Element*>(buffers[inputs_]);
    parallel_for(elements_, grain, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += block) add_block(buffers, y, i, std::min(end, i + block));
    });
  }

 private:
  void add_block(void* const* buffers, Element* y, int64_t begin, int64_t end) const {
    const auto* first = static_cast<const Element*>(buffers[0]);
    if (y != first) std::memcpy(y + begin, first + begin, size_t(end - begin) * sizeof(Element));
    for (int k = 1; k < inputs_; ++k) {
      const auto* x = static_cast<const Element*>(buffers[k]);
      for (int64_t i = begin; i < end; ++i) y[i] = Element(float(y[i]) + float(x[i]));
    }
  }

  int inputs_;
  int64_t elements_;  ///< padding included
  int threads_;
};

}  // namespace

/// All inputs in the format of the first, padding and all: its padding is zero, and so is the sum's.
Prepared prepare_reduce(const Operation& operation) {
  const auto& request = operation.request;
  require(!request.inputs.empty() && request.outputs.size() == 1, "expected inputs and one output");
  const TensorSpec& y = operation.output();
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorSpec& x = operation.operand("x" + std::to_string(i));
    require(operation.find("x" + std::to_string(i)) == int(i), "the inputs should stand in the order x0, x1, …");
    require(x.dims == y.dims,
            "x" + std::to_string(i) + " has shape " + to_string(x.dims) + ", expected the output's " + to_string(y.dims));
  }
  Prepared prepared;
  prepared.inputs.assign(request.inputs.size(), request.inputs[0]);
  prepared.outputs = {request.inputs[0]};
  prepared.in_place = {{0, 0}};
  const int64_t elements = int64_t(request.inputs[0].bytes / size_of(operation.dtype()));
  const int inputs = int(request.inputs.size());
  if (operation.dtype() == DType::bfloat16)
    prepared.executable = std::make_unique<Reduce<BFloat16>>(inputs, elements, request.threads);
  else prepared.executable = std::make_unique<Reduce<float>>(inputs, elements, request.threads);
  take_loop(
      prepared,
      "adds in the order of the replicas, so that the bits are the same each time; oneDNN's sum doesn't promise an order");
  return prepared;
}

}  // namespace sheaf
