// "Did you mean": the known name that an unknown one resembles.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
/// (optimal string alignment), letter case counting half as much as a letter; doubled, to stay integer.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, if it is near enough to be the intended one.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);

/// "; did you mean 'Linear'?" if there is a near candidate, else "; expected one of 'a', 'b'" if the list
/// is short enough to be read, else nothing.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

/// 'a', 'b', 'c'
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace sheaf
