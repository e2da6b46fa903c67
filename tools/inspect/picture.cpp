#include "tools/inspect/picture.h"

#include "tools/inspect/format.h"

#include <map>
#include <set>
#include <tuple>

namespace sheaf {

namespace {

bool is_layer(const PlacementNode& node) { return !node.inserted && node.kind == PlacementNode::operation; }

bool side_by_side(const PlacementNode& a, const PlacementNode& b) {
  return a.device == b.device && a.replica == b.replica && a.region == b.region && a.change == b.change &&
         group_of(a.layer) == group_of(b.layer);
}

/// By node: its only user, if the node is also that user's only operand and they may share a box; -1 otherwise.
std::vector<int> chain_successors(const PlacementGraph& graph) {
  const size_t count = graph.nodes.size();
  std::vector<std::set<int>> users(count), operands(count);
  for (const PlacementEdge& edge : graph.edges) {
    if (edge.parameter) continue;
    users[static_cast<size_t>(edge.from)].insert(edge.to);
    operands[static_cast<size_t>(edge.to)].insert(edge.from);
  }
  std::vector<int> next(count, -1);
  for (size_t n = 0; n < count; ++n) {
    if (users[n].size() != 1 || !is_layer(graph.nodes[n])) continue;
    const int user = *users[n].begin();
    const PlacementNode& follower = graph.nodes[static_cast<size_t>(user)];
    if (operands[static_cast<size_t>(user)].size() == 1 && is_layer(follower) && side_by_side(graph.nodes[n], follower))
      next[n] = user;
  }
  return next;
}

}  // namespace

Picture picture_of(const PlacementGraph& graph) {
  Picture picture;
  const std::vector<int> next = chain_successors(graph);
  std::vector<bool> follows(graph.nodes.size(), false);
  for (int n : next)
    if (n >= 0) follows[static_cast<size_t>(n)] = true;
  std::vector<int> box_of(graph.nodes.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (follows[n]) continue;
    PictureBox box;
    if (is_layer(graph.nodes[n])) box.group = group_of(graph.nodes[n].layer);
    for (int i = static_cast<int>(n); i >= 0; i = next[static_cast<size_t>(i)]) {
      box.nodes.push_back(i);
      box_of[static_cast<size_t>(i)] = static_cast<int>(picture.boxes.size());
    }
    picture.boxes.push_back(std::move(box));
  }

  std::set<std::tuple<int, int, std::string>> drawn;
  std::map<std::pair<int, std::pair<int, int>>, std::pair<int, Extent>> parameters;  // → first user, bytes
  std::set<std::tuple<int, std::pair<int, int>, std::string>> counted;               // a parameter may have several users
  for (const PlacementEdge& edge : graph.edges) {
    const int from = box_of[static_cast<size_t>(edge.from)], to = box_of[static_cast<size_t>(edge.to)];
    if (from == to) continue;
    if (edge.parameter) {
      const PlacementNode& user = graph.nodes[static_cast<size_t>(edge.to)];
      const auto target = user.region >= 0 ? std::pair(-1 - user.region, user.replica) : std::pair(to, 0);
      auto& [first, bytes] = parameters.try_emplace({from, target}, to, Extent(0)).first->second;
      if (edge.tensor.bytes && counted.insert({from, target, edge.tensor.value}).second) bytes = bytes + *edge.tensor.bytes;
      continue;
    }
    if (!drawn.insert({from, to, edge.tensor.value}).second) continue;
    picture.arrows.push_back({from, to, tensor_text(edge.tensor), bytes_text(edge.tensor.bytes), false});
  }
  for (const auto& [key, target] : parameters)
    picture.arrows.push_back({key.first, target.first, "parameters", bytes_text(target.second), true});
  return picture;
}

}  // namespace sheaf
