// The placement graph: what runs where and what moves, in the form from which every dump format is printed.
#pragma once

#include "runtime/ops/traits.h"
#include "runtime/plan/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

/// A tensor on its way from one node to another. In a symbolic graph the sizes are expressions in the program's symbols; in an
/// expanded one all of them are static.
struct PlacementTensor {
  std::string value;  ///< the plan's name for it
  DType dtype = DType::float32;
  std::vector<Extent> shape;
  std::optional<Extent> bytes;  ///< none if it isn't linear in the symbols (two symbolic dimensions)
};

/// How a node changed between two graphs (diff.h); `none` in a graph that isn't a difference.
enum class NodeChange { none, same, changed, removed, added };

struct PlacementNode {
  enum Kind { operation, input, output } kind = operation;
  Movement movement;   ///< of a node inserted to move data
  std::string id;      ///< unique, made of letters, digits, '_' only: "s3", "s3_r1", "in0", "out0"
  std::string op;      ///< what it is called: a layer type in lower case, an inserted operation, "input" or "output"
  std::string layer;   ///< the model's dotted layer name; empty for inputs and outputs
  std::string name;    ///< inputs and outputs: the name that users give or see
  std::string device;  ///< expanded: "host" or the list's name; symbolic: "host", "device:K" or the region's name
  std::string reason;  ///< inserted and placed nodes: one sentence
  Location location;   ///< of the layer in the model file; line 0 if the plan doesn't say
  int replica = -1;    ///< expanded and in a region: its index
  int region = -1;     ///< the region it is in, or moves data to or from
  bool inserted = false;
  Phase phase = Phase::forward;  ///< of a training step
  Json attributes = Json::object();
  std::vector<int64_t> chunks;           ///< expanded scatter, gather: sizes along the dimension
  std::optional<Extent> bytes_moved;     ///< inserted: bytes that go from one device to another (docs/dump.md)
  int64_t parameter_bytes = 0;           ///< of the parameters and buffers that it reads (replicate: of one copy)
  std::vector<PlacementTensor> results;  ///< its result; scatter and replicate: replica 0's
  NodeChange change = NodeChange::none;
};

struct PlacementEdge {
  int from = 0;  ///< indices into PlacementGraph::nodes
  int to = 0;
  PlacementTensor tensor;
  bool parameter = false;  ///< carries a parameter or buffer: left out of pictures
};

struct PlacementRegion {
  std::string name;
  int dim = 0;
  std::vector<std::string> devices;  ///< expanded: of the replicas used; symbolic: of device_ids; empty = all
  std::string output_device;
  Location location;
};

struct PlacementGraph {
  std::string model;
  std::string program;
  bool expanded = false;
  std::vector<std::string> devices;  ///< expanded: the device list
  int64_t batch = 0;                 ///< expanded
  int shards = 0;                    ///< expanded: logical shards (docs/strategies.md); 0: one for each device
  std::vector<PlacementRegion> regions;
  std::vector<PlacementNode> nodes;  ///< in execution order
  std::vector<PlacementEdge> edges;
};

/// The graph for any device list and batch: one node per step.
PlacementGraph symbolic_graph(const Plan& plan, const Program& program);

/// The graph for one device list (names as users wrote them, ranges spelt out) and batch: one node per replica's operation,
/// real sizes; with `shards`, each region cuts its rows into that many parts, whatever the list. The list {"cpu"} is host-only
/// mode: everything on the host, nothing inserted. Errors: an index beyond the list's end, located at the region's layer; an
/// empty list; impossible sizes. `plan` has passed check() (runtime/check/check.h); `program` is one of its programs.
Result<PlacementGraph> expand(const Plan& plan, const Program& program, const std::vector<std::string>& devices, int64_t batch,
                              int shards = 0);

}  // namespace sheaf
