// PyTorch's dotted names, and which of a model's names the names in a file refer to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// `name` without the "module" parts that DataParallel adds: "net.module.0.bias" gives "net.0.bias".
std::string without_module(std::string_view name);

/// Finds, for each of `given`, the index of the name among `known` that it refers to; none if there is none.
///
/// A given name refers to the known name that it equals; otherwise to the one that it equals once both are stripped of their
/// `module.` parts, if there is only one. If all known names share a prefix ("net.module.", a model that is wrapped as a
/// whole), all given names may lack it, or some of its outer parts; and if all given names share a prefix
/// ("model.", as a wrapper writes it), all known names may lack that one. One reading applies to all names: the one that
/// finds the most, and among equals the one that changes names the least.
std::vector<std::optional<size_t>> match_names(std::span<const std::string> known, std::span<const std::string> given);

}  // namespace sheaf
