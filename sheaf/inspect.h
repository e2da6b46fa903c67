// What a plan will do and what it costs, and whether it computes what the model says: the results of `sheaf dump`, `estimate`,
// `explain` and `verify` as data. Component `inspect` of the package (target sheaf::inspect).
//
// Each result has the most useful facts as fields, and everything as JSON and as the text that the verb prints.
#pragma once

#include "sheaf/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

/// What to look at.
struct InspectRequest {
  std::string program = "infer";  ///< one of SharedPlan::programs()
  /// A device list, as DeviceList::open() takes it; the devices may be absent. Empty, where allowed: facts true for any list.
  std::string devices;
  int64_t batch = 0;  ///< rows; given together with `devices`
  BindOptions bind;   ///< only its numerics and deterministic count
};

/// A step of the program: a layer, or an inserted movement. With devices there is one for each replica.
struct PlanNode {
  std::string id;               ///< "s3", "s3_r1", "in0"
  std::string op;               ///< layer type in lower case; scatter, replicate, gather, transfer, reduce, …; input, output
  std::string layer;            ///< the model's dotted name
  std::string device;           ///< as listed, or "host"; without devices "host", "device:K" or the name of the parallel region
  std::string reason;           ///< why it exists or where it is
  int replica = -1;             ///< with devices, inside a parallel region
  std::vector<int64_t> chunks;  ///< with devices, for scatter and gather: sizes along the dimension
  std::optional<int64_t> bytes_moved;  ///< with devices, for inserted nodes: bytes that go from one device to another
};

/// A tensor that goes from one node to another.
struct PlanEdge {
  std::string from, to;  ///< ids of nodes
  std::string value;     ///< its name in the plan
  DType dtype = DType::float32;
  std::vector<Extent> shape;  ///< static with devices
};

struct PlanGraph {
  std::vector<PlanNode> nodes;  ///< in the order of the program
  std::vector<PlanEdge> edges;
};

/// The program before fusion, one node per step. Errors: the plan has no such program; devices without a batch; the model names
/// a device beyond the list.
Result<PlanGraph> plan_graph(const SharedPlan& plan, const InspectRequest& request = {});

/// The same as `format`: "text", "json", "dot", "svg" (drawn by Graphviz, which must be installed), "html", "mlir" or
/// "model-explorer". Also an error: another format.
Result<std::string> draw_plan(const SharedPlan& plan, std::string_view format, const InspectRequest& request = {});

struct LaneEstimate {
  std::string device;        ///< "host", "cpu:1"
  size_t peak_bytes = 0;     ///< arena and lasting bytes, exactly
  size_t arena_bytes = 0;    ///< of tensors within a run
  size_t lasting_bytes = 0;  ///< parameters, optimiser state and what is derived from them
  double flops = 0;          ///< of a step
  double bytes = 0;          ///< read and written
  double busy_seconds = 0;   ///< 0 if times aren't known
};

struct EstimateReport {
  std::vector<LaneEstimate> devices;  ///< the host, then the list
  double step_seconds = 0;            ///< the longest path through all devices; 0 if times aren't known
  double flops = 0;                   ///< of a step, on all devices
  int64_t bytes_moved = 0;            ///< between devices, a step
  size_t parameter_bytes = 0;
  std::string text, json;  ///< docs/estimate.md
};

/// Predicts a step, without touching a device. `request.devices` is required. Errors: those of binding, except for memory.
Result<EstimateReport> estimate_plan(const SharedPlan& plan, const InspectRequest& request);

struct LargestBatchReport {
  int64_t batch = 0;      ///< 0: not even one row fits
  bool at_least = false;  ///< the search stopped there; more would fit
  size_t peak_bytes = 0;  ///< of the fullest device at that batch
};

/// The largest batch with which no device needs more than `memory_bytes`, searched from `request.batch` on.
Result<LargestBatchReport> largest_batch(const SharedPlan& plan, const InspectRequest& request, double memory_bytes);

struct LayerReport {
  std::string layer;                        ///< empty: no layer, such as the optimiser's arithmetic
  std::vector<PlanNode> nodes;              ///< its nodes, including those inserted for it
  std::vector<OperationReport> operations;  ///< with devices: what computes it, by replica
  std::vector<std::string> notes;           ///< what the compiler decided about it
};

struct ExplainReport {
  std::vector<LayerReport> layers;
  std::string text, json;  ///< docs/explain.md
};

/// Where each layer runs and why, and with devices which implementation computes it. `layer`: a layer or a group of layers;
/// empty: all. Also an error: an unknown layer, with a suggestion.
Result<ExplainReport> explain_plan(const SharedPlan& plan, const InspectRequest& request = {}, const std::string& layer = {});

struct VerifyRequest {
  std::string devices;              ///< a device list
  int64_t batch = 0;                ///< rows
  uint64_t seed = 0;                ///< of random data and of dropout
  int steps = 2;                    ///< training steps
  double tolerance = 1;             ///< a factor on the tolerance for rounding; 0: require equal bits
  bool infer = true, train = true;  ///< programs; train only if the plan has it
  BindOptions bind;
};

/// The first value that diverges.
struct VerifyDivergence {
  std::string program, layer, value, op, device;
  int replica = -1;
  std::vector<int64_t> index;  ///< of the element in the whole value
  double expected = 0, found = 0, tolerance = 0;
  std::string explanation;
};

struct VerifyReport {
  bool passed = false;
  std::optional<VerifyDivergence> divergence;
  std::string text, json;  ///< docs/verify.md
};

/// Runs the partitioned programs and the unpartitioned ones on the same random data with the model's weights, and compares
/// every value. A divergence is a finding, not an error. Errors: those of binding and running; weights that were never set.
Result<VerifyReport> verify_model(const Model& model, const VerifyRequest& request);

}  // namespace sheaf
