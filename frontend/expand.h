// From the "layers" and "modules" of a model file to a Graph: modules expanded, value names resolved.
#pragma once

#include "frontend/layer_table.h"
#include "frontend/model.h"
#include "frontend/value.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sheaf::frontend {

/// "share" entries as written; frontend/share.h ties them once all layers are known.
struct ShareEntry {
  std::string layer_path;
  /// The layer's own; if empty, all parameters and buffers of the layer and of those inside it are tied to those of `target`, a
  /// layer.
  std::optional<std::string> own;
  TextPlace own_place;
  std::string target;
  TextPlace target_place;
};

/// Gives the only layer of `body`, which a DataParallel wraps, at least `count` outputs, and names them.
void name_outputs_of_wrapped(Graph& body, int count);

class Expander {
 public:
  /// Bounds on the expansion of a small file, and on lists that are searched item by item.
  static constexpr size_t most_layers = 100'000;
  static constexpr int most_outputs = 4096;  // of a layer whose arguments don't determine their number
  static constexpr int deepest = 200;
  static constexpr size_t most_parameters = 256;  ///< of a module

  Expander(const LocatedNode* modules, Problems& problems);

  /// The model's graph. `outputs` may be absent.
  Graph expand_model(const LocatedNode& root, const std::vector<std::string>& inputs);
  /// Checks the modules that are never used, treating their required parameters as unknown.
  void check_unused_modules();

  const std::vector<ShareEntry>& shares() const { return shares_; }
  /// False if a layer was left out or is half known: anything that depends on all of them cannot be checked.
  bool complete() const { return complete_; }

 private:
  struct Module {
    const LocatedNode* node;
    std::vector<std::string> inputs;
    bool used = false;
    bool open = false;  // being expanded
  };
  /// The DataParallel that contains a layer.
  struct Region {
    std::string name;
    TextPlace place;
    DeviceRef first;
  };
  struct Surroundings {
    std::string path;
    std::optional<DeviceRef> device;
    bool trainable = true;
    bool xavier = false;
    const Region* region = nullptr;
    int depth = 0;
  };
  /// A graph while its layers are added.
  struct Building {
    Graph graph;
    std::map<std::string, int> layer_of;
    std::vector<TextPlace> places;
    std::vector<int> outputs;                    // of each layer; any_number if unknown
    std::map<std::string, TextPlace> all_names;  // later layers included
    bool inputs_known = true;
  };

  Graph expand_graph(Building building, const JsonValue& layers, const JsonValue& outputs, const Surroundings& around);
  void expand_layer(Building& building, const JsonValue& value, size_t position, const Surroundings& around,
                    const std::string* forced_name);
  /// Fills in the layer by its type; returns the number of its outputs.
  int expand_type(Layer& layer, const JsonValue& value, bool inputs_known, const Surroundings& around,
                  const std::optional<DeviceRef>& own_device);
  int expand_leaf(Layer& layer, const LayerType& type, const JsonValue& value, bool inputs_known, Surroundings inside);
  int expand_composed(Layer& layer, const LayerType& type, const JsonValue& value, Surroundings inside);
  int expand_sequential(Layer& layer, const JsonValue& value, bool inputs_known, Surroundings inside);
  int expand_parallel(Layer& layer, const JsonValue& value, bool inputs_known, Surroundings inside,
                      const std::optional<DeviceRef>& own_device);
  int expand_module(Layer& layer, Module& module, const JsonValue& value, bool inputs_known, Surroundings inside);
  Graph expand_body(const std::string& name, Module& module, const Scope& scope, const Surroundings& inside);
  Scope bind_parameters(const std::string& name, const Module& module, const JsonValue* call, const std::string& owner);

  std::string read_name(const Building& building, const JsonValue& value, size_t position);
  std::vector<ValueRef> read_inputs(Building& building, const JsonValue& names, const std::string& owner, bool& known);
  /// `type`: null for a container.
  void read_share(const Layer& layer, const LayerType* type, const JsonValue& value);
  void check_module(const std::string& name, const LocatedMember& member);
  void check_device(const Layer& layer, const std::optional<DeviceRef>& own, const Region& region, TextPlace place);
  bool check_arity(const Layer& layer, int least, int most, int step, TextPlace place);
  std::optional<ValueRef> value_named(const Building& building, const JsonValue& name, const std::string& owner);

  Problems& problems_;
  std::map<std::string, Module> modules_;
  std::vector<std::string> module_order_;
  std::vector<ShareEntry> shares_;
  size_t layers_ = 0;
  bool complete_ = true;
  bool discarding_ = false;  // expanding an unused module: its result is not part of the model
};

}  // namespace sheaf::frontend
