#include "tools/inspect/colours.h"

namespace sheaf {
namespace {

struct MovementColours {
  const char* name;
  NodeColours colours;
};

const MovementColours* movement_colours(const Movement& movement) {
  static constexpr MovementColours kScatter = {"scatter", {"#d6e8fa", "#2b78c5"}},
                                   kReplicate = {"replicate", {"#e9dcf9", "#7b4fc9"}},
                                   kGather = {"gather", {"#fde3c8", "#d9791a"}},
                                   kTransfer = {"transfer", {"#d5f1dd", "#2a9d55"}},
                                   kReduce = {"reduce", {"#fdf0b8", "#b58900"}};
  const bool outward = movement.route == Route::to_replicas;
  switch (movement.carries) {
    case Carries::nothing: return nullptr;
    case Carries::chunks: return outward || movement.route == Route::within ? &kScatter : &kGather;
    case Carries::whole: return outward ? &kReplicate : &kTransfer;
    case Carries::summands: return &kReduce;
  }
  return nullptr;
}

}  // namespace

const char* class_of(const Movement& movement) {
  const MovementColours* known = movement_colours(movement);
  return known ? known->name : nullptr;
}

NodeColours colours_of(const PlacementNode& node) {
  if (node.change == NodeChange::added) return {"#c9f2d2", "#15803d"};
  if (node.change == NodeChange::removed) return {"#fbd0d0", "#b91c1c"};
  if (node.change == NodeChange::changed) return {"#fdedb3", "#b45309"};
  if (node.change == NodeChange::same) return {"#ffffff", "#cbd5e1"};
  if (const MovementColours* known = movement_colours(node.movement)) return known->colours;
  if (node.inserted) return {"#fbd5dd", "#cc3b5e"};
  if (node.kind != PlacementNode::operation) return {"#e8eaed", "#6b7280"};
  return {"#ffffff", "#94a3b8"};
}

}  // namespace sheaf
