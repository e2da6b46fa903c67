// y = x in another type: results that a library writes as narrow as its operands, a bias that it wants as narrow as its result.
#include "element.cuh"

namespace {

template <typename Element>
__device__ void widen(float* y, const Element* x, unsigned long long elements) {
  for (unsigned long long i = first_index(); i < elements; i += grid_size()) y[i] = widened(x[i]);
}

template <typename Element>
__device__ void narrow(Element* y, const float* x, unsigned long long elements) {
  for (unsigned long long i = first_index(); i < elements; i += grid_size()) y[i] = rounded<Element>(x[i]);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) widen_bf16(float* y, const BFloat16* x, unsigned long long elements) {
  widen(y, x, elements);
}
extern "C" __global__ void __launch_bounds__(256) widen_f16(float* y, const Float16* x, unsigned long long elements) {
  widen(y, x, elements);
}
extern "C" __global__ void __launch_bounds__(256) narrow_bf16(BFloat16* y, const float* x, unsigned long long elements) {
  narrow(y, x, elements);
}
extern "C" __global__ void __launch_bounds__(256) narrow_f16(Float16* y, const float* x, unsigned long long elements) {
  narrow(y, x, elements);
}
