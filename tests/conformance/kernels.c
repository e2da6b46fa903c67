// Kernels with the ABI of generated ones (runtime/plan/plan.h), for tests of loading and running them.
#include <stdint.h>

// y = 2x + extents[0]
void double_and_add(void* const* buffers, const int64_t* extents, int64_t begin, int64_t end) {
  const float* x = buffers[0];
  float* y = buffers[1];
  for (int64_t i = begin; i < end; ++i) y[i] = 2 * x[i] + (float)extents[0];
}

// y = a + b
void add(void* const* buffers, const int64_t* extents, int64_t begin, int64_t end) {
  (void)extents;
  const float *a = buffers[0], *b = buffers[1];
  float* y = buffers[2];
  for (int64_t i = begin; i < end; ++i) y[i] = a[i] + b[i];
}

// y[i] = table[index[i]]; status as generated lookups report it: ~p of the first index out of range.
void lookup(void* const* buffers, const int64_t* extents, int64_t begin, int64_t end) {
  const int64_t* index = buffers[0];
  const float* table = buffers[1];
  float* y = buffers[2];
  int64_t* status = buffers[3];
  for (int64_t i = begin; i < end; ++i) {
    if (index[i] >= 0 && index[i] < extents[0]) {
      y[i] = table[index[i]];
    } else {
      y[i] = 0;
      int64_t seen = __atomic_load_n(status, __ATOMIC_RELAXED);
      while ((uint64_t)~i > (uint64_t)seen &&
             !__atomic_compare_exchange_n(status, &seen, ~i, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      }
    }
  }
}
