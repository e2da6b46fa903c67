// Which implementation an operation gets, and why: the facts that `sheaf explain` reports.
#pragma once

#include "runtime/cpu/ops/operation.h"

#include <optional>
#include <string>
#include <vector>

namespace sheaf {

/// Why oneDNN's implementation `pd` is used. `why`: a sentence on the request made to oneDNN and its reason; empty if
/// there was only one possible request. `passed_over`: its next choice, in its order; null if unknown.
std::string library_reason(std::string why, const std::vector<std::string>* passed_over);

/// The other implementations that oneDNN has for the work of `pd`, in its order of preference; nothing for a backward pass,
/// which would need its forward pass again.
std::optional<std::vector<std::string>> passed_over(const dnnl::primitive_desc_base& pd);

/// The operation is computed by `pd`, oneDNN's first choice for the shapes, formats and arithmetic asked for.
template <typename PrimitiveDesc>
void take_library(const Operation& operation, const PrimitiveDesc& pd, Prepared& prepared, std::string why = {}) {
  prepared.implementation = pd.impl_info_str();
  const auto others = operation.request.explain ? passed_over(pd) : std::nullopt;
  prepared.reason = library_reason(std::move(why), others ? &*others : nullptr);
}

/// Linear layers with at most this many multiplications, about a microsecond's worth, are loops: a call of oneDNN takes longer.
constexpr int64_t kSmallProducts = 2048;

/// The operation is computed by one of this project's loops; `why` says why no library does it.
void take_loop(Prepared& prepared, std::string why);

}  // namespace sheaf
