// Which implementation an operation is given, and why: what `sheaf explain` tells.
#pragma once

#include "runtime/cpu/ops/operation.h"

#include <optional>
#include <string>
#include <vector>

namespace sheaf {

/// Why oneDNN's implementation `pd` is taken. `why`: a sentence on what was asked of oneDNN and why that; empty where
/// there was only one way to ask. `passed_over`: what it would have taken next, in its order; null if that isn't known.
std::string library_reason(std::string why, const std::vector<std::string>* passed_over);

/// The other implementations that oneDNN has for what `pd` does, in its order of preference; nothing for a backward pass,
/// whose forward pass it would have to be shown once more.
std::optional<std::vector<std::string>> passed_over(const dnnl::primitive_desc_base& pd);

/// The operation is computed by `pd`, oneDNN's first choice for the shapes, formats and arithmetic asked for.
template <typename PrimitiveDesc>
void take_library(const Operation& operation, const PrimitiveDesc& pd, Prepared& prepared, std::string why = {}) {
  prepared.implementation = pd.impl_info_str();
  const auto others = operation.request.explain ? passed_over(pd) : std::nullopt;
  prepared.reason = library_reason(std::move(why), others ? &*others : nullptr);
}

/// Linear layers of at most so many multiplications, about a microsecond's worth, are loops: a call of oneDNN takes longer.
constexpr int64_t kSmallProducts = 2048;

/// The operation is computed by a loop of this project's; `why` says why no library does it.
void take_loop(Prepared& prepared, std::string why);

}  // namespace sheaf
