// PyTorch's dotted names, and which of a model's names those of a file mean.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// `name` without its parts that are "module", which DataParallel adds: "net.module.0.bias" gives "net.0.bias".
std::string without_module(std::string_view name);

/// Finds, for each of `given`, the index of the name among `known` that it means; none if there is none.
///
/// A given name means the known name that it equals; otherwise the one that it equals once both are stripped of their
/// `module.` parts, if there is only one. Where all known names begin alike ("net.module.", a model that is wrapped as a
/// whole), all given names may lack that front part, or some of its outer parts; and where all given names begin alike
/// ("model.", as a wrapper writes it), all known names may lack theirs. One reading holds for all names: the one that
/// finds the most, and of several such the one that changes names the least.
std::vector<std::optional<size_t>> match_names(std::span<const std::string> known, std::span<const std::string> given);

}  // namespace sheaf
