// Explain: for each layer where it runs and why, which operation computes it and what it is fused with, which implementation
// was chosen, in which layouts, at what cost. docs/explain.md.
#pragma once

#include "runtime/cost/cost.h"
#include "tools/estimate/estimate.h"
#include "tools/inspect/graph.h"
#include "runtime/plan/plan.h"
#include "sheaf/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

struct ExplainRequest {
  std::vector<std::string> devices;  ///< as in --devices, ranges spelt out; empty: only what the plan says
  std::optional<int64_t> batch;      ///< rows; given together with `devices`, or neither
  std::string program = "infer";     ///< "infer" or "train"
  BindOptions bind;
  std::string device_model;  ///< as plan_devices() takes it
  std::string layer;         ///< a layer or a group of layers, with or without `module.`, or its last components. Empty: all
  std::string op;            ///< a layer type, an inserted operation, an operation of the executable program; empty: all
  std::string device;        ///< of a node; empty: all
};

struct DumpOptions;
/// The part of the plan that the request is about, as a dump shows it.
DumpOptions graph_options(const ExplainRequest& request);

/// An operand of an operation, as it is laid out in memory.
struct ExplainedOperand {
  std::string role;   ///< "x", "weight"; of results "y", "y1", …
  std::string value;  ///< the plan's name of it
  TensorSpec tensor;
  bool from_weights = false;  ///< made when weights are set, not at each run
  std::string format() const { return tensor.plain() ? "plain" : tensor.format->name(); }
};

/// An operation at a step, on one device or the same on several; also a reorder or copy that binding inserted.
struct ExplainedOperation {
  Op op{};                           ///< reorder, copy, or the step's
  std::vector<std::string> devices;  ///< one for each replica it runs for
  std::vector<int> replicas;         ///< empty outside regions
  std::string implementation, reason;
  std::string launch;  ///< "update of 62 parameters": what is launched at once, including this; empty: only this
  std::vector<ExplainedOperand> inputs, outputs;
  std::string uncertain;  ///< the part of its memory that isn't known without the device (Prepared::uncertain)
  Cost cost;              ///< of one replica
};

/// A step of the executable program.
struct ExplainedStep {
  const Step* step = nullptr;
  std::string kernel;                          ///< of a generated kernel: which ops it does
  bool owned = true;                           ///< by the layer it is listed under; otherwise it is fused into another layer's
  std::vector<ExplainedOperation> operations;  ///< with a device list
  std::string idle;                            ///< with a device list: why nothing runs for it
};

struct ExplainedLayer {
  std::string layer;                 ///< empty: of no layer, such as the optimiser's arithmetic
  std::vector<PlacementNode> nodes;  ///< of the logical program: each replica's own, and those inserted for the layer
  std::vector<ExplainedStep> steps;
  std::string vanished;  ///< why no step of it is left
};

struct Explanation {
  std::string model, program;
  std::vector<std::string> devices;
  std::vector<PlannedDevice> planned;  ///< of them, the absent ones
  int64_t batch = 0;
  std::vector<PlacementRegion> regions;
  std::vector<ExplainedLayer> layers;
};

/// Explains the layers that `request` selects, in the order of the program. Points into `plan`. With devices the plan is bound
/// to them, which needs its machine code; if one is absent, the binding is only planned. Errors: a program that the plan
/// doesn't hold; an unknown layer, op or device (with a suggestion); devices without batch; those of expand() and of binding.
Result<Explanation> explain(const Plan& plan, const ExplainRequest& request);

std::string print_text(const Explanation& explanation);
Json to_json(const Explanation& explanation);

/// Why a node of the logical program exists, as a chain of facts from the model file on.
struct Why {
  PlacementNode node;
  std::vector<std::string> before, after;  ///< tensors: "x: 30×5 f32 on host, made by in0 (input x)"
  std::vector<std::string> chain;          ///< sentences
};

/// `id` as in `dump --format json` for the same devices and batch. Errors: as explain(); an unknown id.
Result<Why> why(const Plan& plan, const ExplainRequest& request, const std::string& id);

std::string print_text(const Why& why);
Json to_json(const Why& why);

}  // namespace sheaf
