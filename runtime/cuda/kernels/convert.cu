// y = x in f32: results that a library writes as narrow as its operands.
#include "element.cuh"

namespace {

template <typename Element>
__device__ void widen(float* y, const Element* x, unsigned long long elements) {
  for (unsigned long long i = first_index(); i < elements; i += grid_size()) y[i] = widened(x[i]);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) widen_bf16(float* y, const BFloat16* x, unsigned long long elements) {
  widen(y, x, elements);
}
extern "C" __global__ void __launch_bounds__(256) widen_f16(float* y, const Float16* x, unsigned long long elements) {
  widen(y, x, elements);
}
