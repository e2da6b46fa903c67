// The plan: everything the runtime needs, as plain data. Written by codegen/, read and checked by
// runtime/plan/, executed by runtime/bind and runtime/lanes, shown by tools/inspect.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/extent.h"
#include "runtime/plan/op.h"
#include "runtime/plan/phase.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// Among Plan::objects: PTX, which a GPU's driver compiles.
inline constexpr const char* kPtxObject = "ptx";

/// JSON that keeps the order of keys, so a plan is read in the order in which it was written.
using Json = nlohmann::ordered_json;

/// The place of a value or a step, before the device list is known.
/// `host`: the machine's CPU. `device:k`: the k-th entry of the run's device list.
/// `region:r`: once per replica of Plan::regions[r], each on its replica's device.
struct Place {
  enum Kind { host, device, region } kind = host;
  int index = 0;
  bool operator==(const Place&) const = default;
};
std::string to_string(const Place& place);
Result<Place> parse_place(const std::string& text);

/// A DataParallel layer: the group of devices that its replicas run on.
struct Region {
  std::string name;                            ///< the layer's dotted name
  std::optional<std::vector<int>> device_ids;  ///< entries of the device list; none = all of them
  std::optional<int> output_device;            ///< default: the first device of the group
  int dim = 0;                                 ///< dimension that inputs are split along (may be negative, as in PyTorch)
  Location location;                           ///< of the layer in the model file, for errors that a device list causes
};

/// A size that a run determines. `batch` is the number of rows of the run. `chunk` is one replica's
/// share of `of` (semantics: torch.chunk): its value differs between the replicas of `region`, and it
/// occurs only in shapes of values placed in that region. `total` is not a symbol: it is `of` itself.
/// `replicas` is the number of replicas used. `offset` is where a replica's chunk of `of` begins in the whole; it
/// occurs only in kernels' extents, never in a shape. `length` is a size besides the batch, such as a sequence's, for which
/// with_lengths() puts a number (runtime/check/lengths.h): binding and everything behind it see none.
struct Symbol {
  std::string name;
  enum Kind { batch, chunk, replicas, offset, length } kind = batch;
  int region = -1;  ///< chunk, replicas, offset
  Extent of;        ///< chunk, offset: what is split; length: its largest number, 0 if there is none
};

/// How the replicas' tensors of a value that lives in a region relate to the value of the unpartitioned program. Outside
/// of regions: `whole`, which in a region means that nothing is stated.
/// `split:D`: chunks of it along dimension D, concatenated in replica order. `replicated`: each has a copy. `partial`: it is
/// their sum. `local`: unrelated; each replica's own, such as a batch norm's statistics. `sharded`: runs of its elements,
/// flattened, equally long except the last ones, one on each device of the region's group; the shape is the whole value's.
struct ValueLayout {
  enum Kind { whole, split, replicated, partial, local, sharded } kind = whole;
  int dim = 0;  ///< split
  bool operator==(const ValueLayout&) const = default;
};
std::string to_string(const ValueLayout& layout);
Result<ValueLayout> parse_layout(const std::string& text);

struct Value {
  std::string name;  ///< unique in its program; a model's value name if it has one ("net", "lstm:1")
  DType dtype = DType::float32;
  std::vector<Extent> shape;
  Place place;
  /// input, target: given to a run. setting: a scalar that the training loop gives (docs/training.md). parameter,
  /// buffer: from weights; `source` is the dotted name in Plan::parameters. state: the optimiser's; `source` is the
  /// name in Plan::state. temporary: made by a step.
  enum Role { input, target, setting, parameter, buffer, state, temporary } role = temporary;
  std::string source;
  ValueLayout layout;  ///< among the replicas of the region that it lives in
  /// The purpose of memory. parameters: including buffers, such as running means, and new values that wait until the step has
  /// succeeded. derived: made only from parameters. gradients: by parameters, and their sums over micro-batches; those of
  /// activations are activations. optimizer: its state and intermediate results. activations: everything else that a
  /// layer makes, forward or backward. workspace: what an operation keeps for its gradient, and scratch memory.
  /// communication: chunks, gathered values, copies on another device, sums over replicas, the caller's data.
  enum class Purpose { parameters, derived, gradients, optimizer, activations, workspace, communication };
  Purpose purpose = Purpose::activations;  ///< of a temporary; for a value of another role, the role decides (purpose_of())
};
inline constexpr size_t kPurposes = 7;

/// One operation, run once (or once per replica of the region it is placed in).
///
/// In an executable program `op` is data movement between places, `kernel` (a generated kernel named by `kernel`), `view`
/// (output 0 is input 0's elements under another shape), `print` or a library operation (docs/steps.md lists them with
/// operand roles and attributes). In a logical program (Plan::infer_graph) it is data movement or `layer`.
struct Step {
  Op op{};
  std::string type;                ///< of op `layer`: the layer's type, or the nn operation's name, in lower case
  std::string kernel;              ///< of op `kernel`: index by name into Plan::kernels
  std::vector<int> inputs;         ///< indices into Program::values
  std::vector<std::string> roles;  ///< one per input: "x", "weight", "bias", "residual", …
  std::vector<int> outputs;
  Json attributes = Json::object();
  Place place;                     ///< scatter, replicate, gather, transfer: where the result lives
  std::string layer;               ///< dotted name of the layer it comes from
  Location location;               ///< of that layer in the model file, for errors caused by a device list
  std::vector<std::string> fused;  ///< further layers whose work this step does, in order
  std::string reason;              ///< inserted and placed steps: one sentence
  std::vector<std::string>
      notes;          ///< what the compiler decided about it (fused, folded, kept apart, by which means), a sentence each
  bool once = false;  ///< depends only on parameters and buffers: runs when weights are set, not each step
  Phase phase = Phase::forward;  ///< of a kernel that does the work of several, the last
};

/// What the step is called in plans and reports.
std::string op_name(const Step& step);

struct Output {
  std::string name;  ///< the name users see
  int value = -1;
};

/// After a run, the parameter, buffer or state `name` holds `value`, which lives in the same place.
struct Update {
  std::string name;
  int value = -1;
};

/// An ordered list of steps; each value is made before it is used.
struct Program {
  std::vector<Symbol> symbols;  ///< symbols[0] is `batch`; lengths follow it
  std::vector<Value> values;
  std::vector<Step> steps;
  std::vector<Output> outputs;
  std::vector<Update> updates;  ///< of a training step; none in inference
};

/// Of a generated kernel: `each` floating-point operations for every element of operand `operand` (the step's inputs,
/// then its outputs), which take about as long as `instructions` additions.
struct KernelArithmetic {
  double each = 0;
  int operand = 0;
  double instructions = 0;
};

/// A generated kernel: a function in the plan's objects,
///   void name(void* const* buffers, const int64_t* extents, int64_t begin, int64_t end)
/// over the index range [begin, end) of its outermost loop. Buffers: the step's inputs, then outputs.
struct Kernel {
  std::string name;
  std::string description;   ///< one line for people: the ops it computes
  int extents = 0;           ///< how many entries of `extents` it reads (the step's attribute "extents" gives their values)
  bool elementwise = false;  ///< works in any layout, if all operands of more than one element have the same one
  std::vector<KernelArithmetic> arithmetic;  ///< for estimates: what it computes, by its definition
  /// On a GPU (docs/cuda.md): threads of a block, and how many items of the range one block handles at a time. 0: the plan
  /// has no GPU form of it.
  int gpu_block = 0, gpu_items = 0;
};

/// A parameter or buffer of the model, under its PyTorch name with every `module.` in place. Constants come last.
struct Parameter {
  std::string name;
  DType dtype = DType::float32;
  std::vector<int64_t> shape;
  bool buffer = false;
  std::vector<std::string> aliases;  ///< further names under which PyTorch saves it: layers tied to it
  Json init = Json::object();        ///< {"type": "uniform"|"normal"|"constant"|…, …}: the initial distribution
  bool transient = false;            ///< state that lives only within a step (docs/training.md): a sum over micro-batches
  bool constant = false;             ///< a buffer that isn't in weights files: `init` is {"type": "data", "data": base64}
};

struct Plan {
  /// The parameters and buffers that weights files contain.
  std::span<const Parameter> weights() const {
    size_t count = parameters.size();
    while (count > 0 && parameters[count - 1].constant) --count;
    return std::span(parameters).first(count);
  }

  std::string file;  ///< the file it was read from, for messages; not part of the plan
  std::string producer;
  std::string name;  ///< the model's name
  std::string precision = "f32";
  std::vector<std::string> requires_;  ///< features a reader must know, or refuse
  std::vector<Region> regions;
  std::vector<Parameter> parameters;
  std::vector<Parameter> state;  ///< of the training step: the optimiser's, then transient ones
  std::vector<Kernel> kernels;
  /// Linked shared objects by instruction-set level: "x86-64-v3", "x86-64-v4"; and "ptx": PTX text for sm_80 and later.
  std::vector<std::pair<std::string, std::string>> objects;
  Program infer;        ///< what runs
  Program infer_graph;  ///< the same program before fusion, one node per layer: what dump shows
  Program train;        ///< one training step; no steps if the model has no `training` section
  Program train_graph;  ///< the same before fusion
  /// The same step for a batch in parts (docs/training.md): `accumulate` runs once per micro-batch, then `update` once. Present
  /// if `train` is.
  Program accumulate, update;
  Program accumulate_graph, update_graph;  ///< the same before fusion
  /// For a caller that owns parameters and buffers and gives them as inputs (docs/training.md#gradients-for-callers): `forward`
  /// has the model's outputs, then buffers' new values. `backward` also computes, with the outputs' gradients as targets,
  /// gradients of inputs and parameters as further outputs; its steps are in this order. Either both or neither exist.
  Program forward, backward;
  Program forward_graph, backward_graph;  ///< the same before fusion
  std::string train_ir;                   ///< of the training step, as `ir`
  std::string accumulate_ir;              ///< of `accumulate` and `update`
  std::string forward_ir, backward_ir;
  std::string ir;  ///< the dist-level IR as text, for `dump --format mlir`
  Json training;   ///< the model's `training` section as checked by the frontend; null if absent
};

/// The purpose of `value`, which belongs to a program of `plan`.
Value::Purpose purpose_of(const Plan& plan, const Value& value);
/// The same for the state `name`: sums over micro-batches have the purpose of gradients.
Value::Purpose purpose_of_state(const Plan& plan, const std::string& name);

}  // namespace sheaf
