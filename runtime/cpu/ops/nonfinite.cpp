// How many elements of any number of tensors are infinite or NaN: those of which all bits of the exponent are set.
#include "runtime/cpu/ops/choice.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/steps/count_step.h"

#include <algorithm>
#include <atomic>

namespace sheaf {
namespace {

constexpr int64_t kStretch = 4096;         ///< elements that are counted without a branch
constexpr int64_t kLeast = 16 * kStretch;  ///< elements for a thread

template <typename Word>
int64_t count_from(const void* data, int64_t begin, int64_t end, Word exponent) {
  const Word* words = static_cast<const Word*>(data);
  int64_t count = 0;
  for (int64_t i = begin; i < end;) {
    Word found = 0;  // a stretch's count fits into any word
    for (const int64_t stop = std::min(end, i + kStretch); i < stop; ++i)
      found = static_cast<Word>(found + Word{(words[i] & exponent) == exponent});
    count += found;
  }
  return count;
}

class CountNonfinite final : public Executable {
 public:
  CountNonfinite(const std::vector<TensorSpec>& tensors, int threads) : threads_(threads) {
    for (const TensorSpec& tensor : tensors) {
      tensors_.push_back({tensor.dtype, elements_});
      elements_ += static_cast<int64_t>(tensor.bytes / size_of(tensor.dtype));  // padding is zero
    }
  }
  void run(void* const* buffers, void*) override {
    std::atomic<int64_t> count{0};
    parallel_for(elements_, kLeast, threads_, [&](int64_t begin, int64_t end) {
      count.fetch_add(count_range(buffers, begin, end), std::memory_order_relaxed);
    });
    *static_cast<float*>(buffers[tensors_.size()]) = static_cast<float>(count.load(std::memory_order_relaxed));
  }

 private:
  struct Counted {
    DType dtype;
    int64_t first;  ///< number of its first element among those of all tensors
  };

  int64_t count_range(void* const* buffers, int64_t begin, int64_t end) const {
    int64_t count = 0;
    for (size_t i = tensors_.size(); i-- > 0 && begin < end;) {
      const auto [dtype, first] = tensors_[i];
      if (first >= end) continue;
      const int64_t from = std::max(begin, first) - first, to = end - first;
      if (dtype == DType::float32) count += count_from<uint32_t>(buffers[i], from, to, 0x7f800000);
      else count += count_from<uint16_t>(buffers[i], from, to, dtype == DType::bfloat16 ? 0x7f80 : 0x7c00);
      end = std::min(end, first);
    }
    return count;
  }

  std::vector<Counted> tensors_;
  int64_t elements_ = 0;
  int threads_;
};

}  // namespace

/// Each tensor in the format that it is in, float32, bfloat16 or float16 whatever the others are.
Prepared prepare_nonfinite(const Operation& operation) {
  const auto& request = operation.request;
  require_counted(operation);
  Prepared prepared;
  prepared.inputs.assign(request.inputs.begin(), request.inputs.end());
  prepared.outputs.assign(request.outputs.begin(), request.outputs.end());
  prepared.executable = std::make_unique<CountNonfinite>(prepared.inputs, request.threads);
  take_loop(prepared, "one loop over all tensors, in whatever format they are; oneDNN has no such operation");
  return prepared;
}

}  // namespace sheaf
