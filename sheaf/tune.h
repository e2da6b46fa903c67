// Whether measurement chooses how operations are computed (docs/cpu-choices.md).
#pragma once

namespace sheaf {

/// Whether the implementations of CPU operations are chosen by measurement, which may change how results are rounded from what it is
/// without; not from one run to the next on a machine, as what was chosen is kept in a cache file.
enum class Tune {
  off,    ///< a model of costs chooses: the same on every CPU with the same instructions
  quick,  ///< what the cache doesn't know is measured, within a second
  full,   ///< everything is measured anew, without a limit
};

}  // namespace sheaf
