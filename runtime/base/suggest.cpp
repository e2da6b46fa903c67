#include "runtime/base/suggest.h"

#include <algorithm>
#include <cctype>
#include <ranges>

namespace sheaf {
namespace {

constexpr size_t longest_compared = 80;
constexpr size_t longest_list = 12;
constexpr size_t most_compared = 1000;

int substitution_cost(char a, char b) {
  if (a == b) return 0;
  auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return lower(a) == lower(b) ? 1 : 2;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = 2 * static_cast<int>(i + j);
        continue;
      }
      cost[i][j] =
          std::min({cost[i - 1][j] + 2, cost[i][j - 1] + 2, cost[i - 1][j - 1] + substitution_cost(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 2);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > longest_compared) return std::nullopt;
  // A third of the letters may differ; more is another word.
  int best = 2 * std::max<int>(1, static_cast<int>(name.size()) / 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates | std::views::take(most_compared)) {
    if (candidate.size() > longest_compared) continue;
    int distance = edit_distance(name, candidate);
    if (distance < best && distance < 2 * static_cast<int>(candidate.size())) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  if (auto near = nearest(name, candidates)) return "; did you mean '" + *near + "'?";
  if (candidates.empty() || candidates.size() > longest_list) return {};
  return (candidates.size() == 1 ? "; expected " : "; expected one of ") + quoted_list(candidates);
}

}  // namespace sheaf
