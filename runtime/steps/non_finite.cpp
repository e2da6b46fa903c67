#include "runtime/steps/non_finite.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sheaf {
namespace {

std::atomic<int> runs{0};

/// `Word` holds numbers whose exponent is `exponent`: all of its bits set is infinity or not a number. In blocks, each
/// without a branch.
template <typename Word>
bool finite(const void* data, size_t count, Word exponent) {
  const auto* numbers = static_cast<const Word*>(data);
  for (size_t begin = 0; begin < count; begin += 4096) {
    const size_t end = std::min(begin + 4096, count);
    Word most = 0;
    for (size_t i = begin; i < end; ++i) most = std::max(most, static_cast<Word>(numbers[i] & exponent));
    if (most == exponent) return false;
  }
  return true;
}

}  // namespace

bool all_finite(const TensorSpec& tensor, const void* data) {
  const size_t count = tensor.bytes / size_of(tensor.dtype);
  if (tensor.dtype == DType::float32) return finite<uint32_t>(data, count, 0x7F800000U);
  if (tensor.dtype == DType::bfloat16) return finite<uint16_t>(data, count, 0x7F80);
  if (tensor.dtype == DType::float16) return finite<uint16_t>(data, count, 0x7C00);
  return true;
}

NonFiniteRun::NonFiniteRun() { runs.fetch_add(1); }
NonFiniteRun::~NonFiniteRun() { runs.fetch_sub(1); }
bool NonFiniteRun::under_way() { return runs.load(std::memory_order_relaxed) > 0; }

bool cuts_nan_off(const Step& step) {
  if (step.op != "linear" && step.op != "conv" && step.op != "conv_transpose" && step.op != "matmul") return false;
  const auto activation = step.attributes.find("activation");
  if (activation == step.attributes.end() || !activation->is_object()) return false;
  const Json kind = activation->value("kind", Json());
  return kind == "relu" || kind == "hardtanh" || (kind == "leaky_relu" && activation->value("negative_slope", Json()) == 0.0);
}

}  // namespace sheaf
