// A model file after parsing, checking and expansion: modules are expanded, names resolved, arguments
// complete. No MLIR here; frontend/import turns it into the nn dialect.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/extent.h"

#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::frontend {

using Json = nlohmann::ordered_json;

/// "cpu" is the host; "cuda:k" the k-th entry of a run's device list.
struct DeviceRef {
  bool host = false;
  int index = 0;
  Location location;
};

/// A value inside one Graph: output `output` of layer `layer`, or graph input `output` where layer is -1.
struct ValueRef {
  int layer = -1;
  int output = 0;
  bool operator==(const ValueRef&) const = default;
};

struct Graph;

/// One layer with its arguments under PyTorch's constructor names. Every argument is present (defaults filled in) and in its
/// canonical form: a scalar for PyTorch's "int or tuple" is expanded to one number per spatial dimension (`kernel_size: 3` of a
/// Conv2d → [3, 3]); None is null.
struct Layer {
  std::string name;  ///< within its graph
  std::string path;  ///< PyTorch's dotted name, `module.` included: the prefix of its parameters' names
  std::string type;  ///< "Linear", …; "Sequential", "DataParallel", or a module's name for containers
  Location location;
  Json arguments = Json::object();
  std::map<std::string, Location> argument_locations;
  std::vector<ValueRef> inputs;
  int values = 1;                            ///< how many of its values are named: all up to the last named one
  std::optional<DeviceRef> device;           ///< own, or inherited from the innermost container that has one
  std::map<std::string, std::string> share;  ///< own parameter ("weight") → full name of the one that it is tied to
  bool trainable = true;                     ///< false if it or a container says so: its own parameters are buffers
  bool checkpoint = false;      ///< training computes its activations once more in the backward pass instead of keeping them
  bool xavier = false;          ///< its matrices begin with torch.nn.init.xavier_uniform_
  std::unique_ptr<Graph> body;  ///< Sequential, DataParallel, modules, layers composed of others
};

/// Layers in order. A DataParallel's body has exactly one layer, named "module"; its path is
/// `<path of the DataParallel>.module` (and a wrapped module's inner layers follow it directly).
struct Graph {
  std::vector<std::string> inputs;
  std::vector<Layer> layers;
  std::vector<ValueRef> outputs;
  std::vector<std::string> output_names;
};

/// An input or a training target. Each dimension is a number, the symbol "batch", or a length's symbol.
struct InputDecl {
  std::string name;
  std::vector<Extent> shape;
  DType dtype = DType::float32;
  Location location;
};

/// {"types": [...], "weight": {...}, "bias": {...}}: distributions by own-parameter name.
struct InitRule {
  std::vector<std::string> types;
  std::map<std::string, Json> distributions;
  Location location;
};

struct Training {
  std::vector<InputDecl> targets;
  std::string loss_type;
  Json loss_arguments = Json::object();
  std::vector<std::string> loss_inputs;  ///< names of model outputs, targets and inputs, in the loss's order
  Json optimizer = Json::object();       ///< {"type", …}, complete; "parameter_groups" with full names (parameter_groups.h)
  Json schedule;                         ///< null if absent
  std::optional<double> clip_grad_norm;
  Json loss_scale;  ///< null if absent; a number, or torch.amp.GradScaler's arguments, complete
  std::vector<std::string> metrics;
  Location location;
};

struct Model {
  std::string file;
  std::string text;  ///< the file's content: later diagnostics quote its lines
  std::string name;
  std::vector<InputDecl> inputs;
  std::vector<std::string> lengths;  ///< sizes besides the batch that a run determines, in the order of their appearance
  Graph graph;                       ///< graph.inputs are the names of `inputs`
  std::vector<InitRule> init;
  std::optional<Training> training;
};

/// Number of values of a layer type (LSTM 3, GRU and RNN 2, MultiheadAttention 2, containers: their body's outputs).
int output_count(const Layer& layer);

/// Parses and checks a model file's text. Reports all problems found, each as FILE:LINE:COL, with the source line and, for
/// unknown names, the nearest known one. Shapes of values are not checked here; shape inference does that on the nn dialect.
Result<Model> parse_model(std::string file, std::string text);

/// Reads FILE and parses it.
Result<Model> load_model(const std::string& file);

}  // namespace sheaf::frontend
