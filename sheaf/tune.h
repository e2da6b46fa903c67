// Whether measurement chooses how operations are computed (docs/cpu-choices.md).
#pragma once

namespace sheaf {

/// Whether measurement chooses the implementations of CPU operations. That may change how results are rounded compared with
/// off, but not from one run to the next on a machine, because the choices are kept in a cache file.
enum class Tune {
  off,    ///< a cost model chooses: the same for a program on every CPU with the same instructions, for as many threads
  quick,  ///< measures what the cache doesn't know, within a second
  full,   ///< measures everything anew, without a time limit
};

}  // namespace sheaf
