// Builds a placement graph from a program: one walk over its steps for the symbolic and the expanded form.
#pragma once

#include "runtime/bind/chunk.h"
#include "tools/inspect/device_map.h"
#include "tools/inspect/graph.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// What a device list and a batch determine.
struct PlacementSizes {
  DeviceMap devices;
  SymbolTable symbols;
};

class GraphBuilder {
 public:
  /// `sizes` null: the symbolic graph. Both outlive the builder.
  GraphBuilder(const Plan& plan, const Program& program, const PlacementSizes* sizes)
      : plan_(plan), program_(program), sizes_(sizes) {}

  /// Fails only in the expanded form, if a size is out of bounds.
  Result<PlacementGraph> build();

 private:
  const Value& value(int index) const { return program_.values[static_cast<size_t>(index)]; }
  int replicas(const Place& place) const;
  std::string device(const Place& place, int replica) const;
  Result<PlacementTensor> tensor(int index, int replica) const;

  void add_regions();
  Result<void> add_inputs();
  Result<void> add_outputs();
  Result<void> add_step(size_t index);
  Result<void> add_computation(size_t index);
  Result<void> add_movement(size_t index);
  /// The node of a data-moving step: its own or, for parameters, one that it shares with others.
  int movement_node(size_t index);
  Result<void> connect(int node, int input, int replica);
  Result<Extent> moved(const Step& step, int input, int output) const;
  std::optional<Extent> moved_symbolically(const Step& step, int input, int output) const;
  Result<void> set_chunks(PlacementNode& node, const Step& step) const;

  const Plan& plan_;
  const Program& program_;
  const PlacementSizes* sizes_;
  PlacementGraph graph_;
  std::vector<std::vector<int>> producers_;  ///< by value: the node that makes it, for each replica
  std::vector<bool> parameter_;              ///< by value: a parameter or buffer, or a copy of one
  std::map<std::string, int> shared_;        ///< movements of parameters, merged: key → node
};

}  // namespace sheaf
