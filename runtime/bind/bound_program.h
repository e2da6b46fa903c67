// A program bound to one device list and batch: each step once per replica, each value with its size and format, and the copies
// and reorders that these need. Binding works on it (docs/binding.md): expand() builds it, the rewrites of
// rewrites.cpp change it, schedule(), plan_memory() and lower() read it; execution never sees it.
#pragma once

#include "runtime/bind/byte_inputs.h"
#include "runtime/bind/variable_store.h"
#include "runtime/lanes/lane_program.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sheaf {

using TensorId = Id<struct Tensor>;
using StepId = Id<Step>;    ///< in Program::steps
using ValueId = Id<Value>;  ///< in Program::values

/// A value on a replica, or a copy of one.
struct Tensor {
  /// Its own memory, which binding plans, in its lane's arena.
  struct Planned {};
  /// Bytes of another tensor, from `offset` on.
  struct View {
    TensorId of;
    size_t offset = 0;
  };
  /// A node of the variable store. A `variable` is a parameter, buffer or state that each run may change.
  struct Stored {
    NodeId node;
    bool variable = false;
  };
  /// The caller's buffer of a program input, target or setting.
  struct Given {
    int input = 0;
  };
  /// The caller's buffer of a program output.
  struct Wanted {
    int output = 0;
  };
  using Place = std::variant<Planned, View, Stored, Given, Wanted>;

  TensorSpec spec;
  std::string name;
  LaneId lane = kHostLane;
  Place place = {};
  std::vector<InstanceId> writers = {};  ///< must be done before this can be read
  /// Planned memory of the same size, for an input that comes ahead: runs take turns with the two, and both last as long as the
  /// binding. None: its memory is free when nobody reads it any more.
  TensorId twin = {};

  /// Null if it is elsewhere.
  template <typename Kind>
  const Kind* lies() const {
    return std::get_if<Kind>(&place);
  }
  /// It has its own memory, or a buffer of the caller's or the store's, and is not a view.
  bool root() const { return !lies<View>(); }
  bool variable() const { return lies<Stored>() && lies<Stored>()->variable; }
};

/// The kinds of work of an instance.
struct InstanceKinds {
  /// An operation that a device prepared.
  struct Call {
    std::unique_ptr<Executable> executable;
    size_t scratch_bytes = 0;
    bool can_fail = false;
    std::string implementation, reason;
    std::string uncertain;                       ///< Prepared::uncertain
    std::vector<std::pair<int, int>> in_place;   ///< Prepared::in_place
    std::shared_ptr<const Selection> selection;  ///< Prepared::selection
  };
  struct LibraryCall : Call {};  ///< a step that is an operation of a library
  struct KernelCall : Call {     ///< a step that is a generated kernel
    std::string kernel;          ///< the step's, or the one that reads an operand in a narrower type
  };
  struct Reorder : Call {};  ///< its operand in another format, for `step`
  struct Check : Call {};    ///< of the loss
  /// A device's part in an operation among several (Instance::collective).
  struct Collective : Call {
    CollectiveRequest::Kind kind = CollectiveRequest::broadcast;
    std::vector<StepId> steps;  ///< the steps it works for
  };
  /// In a world of several processes, on the lanes for messages: its input goes to another rank, where a Receive outputs it.
  struct Send : Call {
    int to = 0;
  };
  struct Receive : Call {
    int from = 0;
  };
  /// All ranks tell each other whether their run has failed yet.
  struct Agree : Call {};
  struct Copy {
    CopyShape shape;
    size_t source_offset = 0, target_offset = 0;  ///< bytes into the tensors
    bool placeable = false;                       ///< a whole tensor to one run of bytes: it could be made there instead
    bool left_out = false;                        ///< and it is: its source's writers write its target
    bool ahead = false;                           ///< of the caller's data, to a tensor with a twin: during the run before
  };
  /// Several of the caller's buffers into one tensor.
  struct Fetch {
    std::vector<CopyPart> parts;  ///< the place of each input in the output
  };
  struct Print {
    std::string text;  ///< the line, newline included
  };
};

/// A step on a replica, or an instance inserted by binding.
struct Instance : InstanceKinds {
  using Work = std::variant<LibraryCall, KernelCall, Reorder, Check, Collective, Send, Receive, Agree, Copy, Fetch, Print>;

  StepId step;       ///< none: inserted for no particular step
  int replica = -1;  ///< -1 outside regions
  int entry = -1;    ///< of the device list, for messages; -1: the host
  LaneId lane = kHostLane;
  Work work = {};
  std::vector<TensorId> inputs = {}, outputs = {};
  std::vector<InstanceId> after = {};  ///< must be done before, in addition to the writers of the inputs
  bool early = false;                  ///< depends only on variables or the caller: runs before all others of its lane
  bool commits = false;                ///< writes a variable: skipped in a run that has failed
  int collective = -1;                 ///< a number shared by the instances that run as one, one per lane

  template <typename Kind>
  const Kind* is() const {
    return std::get_if<Kind>(&work);
  }
  /// Null if it runs nothing that a device prepared.
  const Call* call() const {
    const auto find = [](const auto& kind) -> const Call* {
      if constexpr (std::is_base_of_v<Call, std::remove_cvref_t<decltype(kind)>>) return &kind;
      else return nullptr;
    };
    return std::visit(find, work);
  }
  Call* call() { return const_cast<Call*>(std::as_const(*this).call()); }
  bool left_out() const { return is<Copy>() && is<Copy>()->left_out; }
  bool can_fail() const { return call() && call()->can_fail; }
};

struct Root {
  TensorId tensor;
  size_t offset = 0;
};

struct BoundProgram {
  /// After a run, `variable`, a root, holds the value of `value`, which is in its format.
  struct Update {
    TensorId variable, value;
  };

  IdVector<TensorId, Tensor> tensors;
  IdVector<InstanceId, Instance> instances;         ///< in an order in which they could run one after another
  std::vector<TensorId> outputs;                    ///< by program output
  IdVector<ValueId, std::vector<TensorId>> values;  ///< by value of the program and replica
  std::vector<Update> updates;
  InstanceId guard;  ///< of a training program: the check of the loss
  bool gathers_scalars = false;

  Root root(TensorId tensor) const {
    Root found{tensor, 0};
    for (const auto* view = tensors[tensor].lies<Tensor::View>(); view; view = tensors[view->of].lies<Tensor::View>()) {
      found.tensor = view->of;
      found.offset += view->offset;
    }
    return found;
  }
  const Tensor& home(TensorId tensor) const { return tensors[root(tensor).tensor]; }
  bool planned(TensorId tensor) const { return tensors[tensor].lies<Tensor::Planned>(); }
  /// `tensor` takes up all of its root, and the root is in planned memory.
  bool covers_planned_root(TensorId tensor) const {
    const Root at = root(tensor);
    return planned(at.tensor) && at.offset == 0 && tensors[tensor].spec.bytes == tensors[at.tensor].spec.bytes;
  }
};

/// A program that runs in two parts: the first makes the first `outputs` outputs of the first `inputs` inputs, the second all
/// others. No outputs: it runs as a whole.
struct RunParts {
  size_t inputs = 0, outputs = 0;
};

/// What a program is bound to.
struct BindContext {
  const Plan& plan;
  const Program& program;
  const DeviceSet& devices;
  IdVector<LaneId, std::shared_ptr<const Kernels>> kernels;
  VariableStore& store;
  int64_t batch = 0;
  bool fast_numerics = false;
  bool explain = false;
  bool deterministic = true;
  Seconds deadline = kDeadline;
  bool observe = false;  ///< Binding::observe() will be called
  RunParts parts = {};
  const Choices* choices = nullptr;   ///< PrepareRequest::choices
  const ByteInputs* bytes = nullptr;  ///< BindOptions::bytes; null: none
  const Program* origin = nullptr;    ///< BindRequest::origin

  /// The caller may give a run's data during the run before: those of a whole training step.
  bool brings_ahead() const { return &program == &plan.train && parts.outputs == 0; }

  const Step& step(StepId id) const { return program.steps[id.index()]; }
  /// The step of the model's own plan that `id` comes from: it outlives the model's weights.
  const Step& lasting_step(StepId id) const { return (origin ? *origin : program).steps[id.index()]; }
  const Value& value(ValueId id) const { return program.values[id.index()]; }
};

}  // namespace sheaf
