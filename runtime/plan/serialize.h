// Writing a plan as the text of a .plan file (JSON); runtime/check/reader.h reads it.
#pragma once

#include "runtime/plan/plan.h"

#include <string>

namespace sheaf {

/// The format's version: a reader takes the same major and no newer minor number.
inline constexpr int kPlanMajor = 1;
/// A plan gets the lowest minor number that covers its contents. 1: training programs; 2: layouts of values;
/// steps in micro-batches; arithmetic of kernels; 3: kernels for GPUs; 4: what kernels were made for; 5: purposes of values,
/// phases of steps; 6: `forward` and `backward`.
inline constexpr int kPlanMinor = 6;

/// The plan as JSON text: one step, value, parameter or kernel per line, objects in base64 (PTX as plain text), and a SHA-256
/// over everything else in it, which guards against damage. Deterministic: equal plans give equal bytes. Write it
/// with write_file_atomically (runtime/base/file.h).
std::string serialize(const Plan& plan);

}  // namespace sheaf
