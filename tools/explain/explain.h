// Explain: for each layer where it runs and why, which operation computes it and with what it is fused, which
// implementation was chosen, in which layouts, at what cost. docs/explain.md.
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
  std::vector<std::string> devices;  ///< as in --devices, ranges spelt out; empty: what the plan alone says
  std::optional<int64_t> batch;      ///< rows; given together with `devices`, or neither
  std::string program = "infer";     ///< "infer" or "train"
  BindOptions bind;
  std::string device_model;  ///< as plan_devices() takes it
  std::string layer;   ///< a layer or a group of layers, with or without `module.`; its last components do too. Empty: all
  std::string op;      ///< a layer type, an inserted operation, an operation of the executable program; empty: all
  std::string device;  ///< of a node; empty: all
};

struct DumpOptions;
/// What of the plan the request is about, as a dump shows it.
DumpOptions graph_options(const ExplainRequest& request);

/// An operand of an operation, as it lies in memory.
struct ExplainedOperand {
  std::string role;   ///< "x", "weight"; of results "y", "y1", …
  std::string value;  ///< the plan's name of it
  TensorSpec tensor;
  bool from_weights = false;  ///< made when weights are set, not at each run
  std::string format() const { return tensor.plain() ? "plain" : tensor.format->name(); }
};

/// What runs at each step, on one device or alike on several; a reorder or copy that binding inserted too.
struct ExplainedOperation {
  Op op{};                           ///< reorder, copy, or the step's
  std::vector<std::string> devices;  ///< one for each replica that it runs for
  std::vector<int> replicas;         ///< empty outside of regions
  std::string implementation, reason;
  std::string launch;  ///< "update of 62 parameters": what is launched at once, this among it; empty: this alone
  std::vector<ExplainedOperand> inputs, outputs;
  std::string uncertain;  ///< what of its memory isn't known without the device (Prepared::uncertain)
  Cost cost;              ///< of one replica
};

/// A step of the executable program.
struct ExplainedStep {
  const Step* step = nullptr;
  std::string kernel;                          ///< of a generated kernel: which ops it does
  bool owned = true;                           ///< by the layer that it is listed under; else it is fused into another layer's
  std::vector<ExplainedOperation> operations;  ///< with a device list
  std::string idle;                            ///< with a device list: why nothing runs for it
};

struct ExplainedLayer {
  std::string layer;                 ///< empty: of no layer, as the optimiser's arithmetic
  std::vector<PlacementNode> nodes;  ///< of the logical program: for each replica its own, and what was inserted for the layer
  std::vector<ExplainedStep> steps;
  std::string vanished;  ///< why no step is left of it
};

struct Explanation {
  std::string model, program;
  std::vector<std::string> devices;
  std::vector<PlannedDevice> planned;  ///< of them, those that aren't there
  int64_t batch = 0;
  std::vector<PlacementRegion> regions;
  std::vector<ExplainedLayer> layers;
};

/// Explains the layers that `request` selects, in the order of the program. Points into `plan`. With devices the plan is
/// bound to them, which needs its machine code, or where one isn't there, the binding is planned. Errors: a program that the plan doesn't hold; an unknown layer, op or
/// device (with what was perhaps meant); devices without batch; what expand() and binding refuse.
Result<Explanation> explain(const Plan& plan, const ExplainRequest& request);

std::string print_text(const Explanation& explanation);
Json to_json(const Explanation& explanation);

/// Why a node of the logical program is there, as a chain of facts from the model file on.
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
