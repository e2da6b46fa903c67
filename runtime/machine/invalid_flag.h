// The CPU's flag of invalid operations, per thread. It is set by an operation on numbers that has no numeric
// result, and by a comparison or maximum with a NaN, and stays set. So it shows, at no cost, that there was no NaN.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace sheaf {

/// Whether the calling thread's flag is set; clears it.
inline bool take_invalid_flag() {
#if defined(__x86_64__)
  const unsigned state = _mm_getcsr();
  if ((state & _MM_EXCEPT_INVALID) == 0) return false;
  _mm_setcsr(state & ~static_cast<unsigned>(_MM_EXCEPT_INVALID));
  return true;
#else
  if (!std::fetestexcept(FE_INVALID)) return false;
  std::feclearexcept(FE_INVALID);
  return true;
#endif
}

}  // namespace sheaf
