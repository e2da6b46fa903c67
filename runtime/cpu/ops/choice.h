// Which implementation an operation is given, and why: what `sheaf explain` tells.
#pragma once

#include "runtime/cpu/ops/operation.h"

#include <string>
#include <vector>

namespace sheaf {

/// Why oneDNN's implementation `pd` is taken. `why`: a sentence on what was asked of oneDNN and why that; empty where
/// there was only one way to ask. `passed_over`: what it would have taken next, in its order; null where nobody asked.
std::string library_reason(std::string why, const std::vector<std::string>* passed_over);

/// The operation is computed by `pd`, oneDNN's first choice for the shapes, formats and arithmetic asked for.
template <typename PrimitiveDesc>
void take_library(const Operation& operation, const PrimitiveDesc& pd, Prepared& prepared, std::string why = {}) {
  prepared.implementation = pd.impl_info_str();
  std::vector<std::string> others;
  if (operation.request.explain)
    for (PrimitiveDesc next = pd; next.next_impl();) others.emplace_back(next.impl_info_str());
  prepared.reason = library_reason(std::move(why), operation.request.explain ? &others : nullptr);
}

/// The operation is computed by a loop of this project's; `why` says why no library does it.
void take_loop(Prepared& prepared, std::string why);

}  // namespace sheaf
