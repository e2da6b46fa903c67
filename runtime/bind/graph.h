// A program expanded for one device list and batch: each step once per replica, each value with its size and
// format, and the copies and reorders that these ask for. Binding builds it, in the order of the files
// expand.cpp, inputs.cpp, collectives.cpp, place_values.cpp, schedule.cpp, memory_plan.cpp and lower.cpp; execution never sees it.
#pragma once

#include "runtime/bind/chunk.h"
#include "runtime/bind/constants.h"
#include "runtime/device/device_set.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// A value on a replica, or a reordered copy of one. Either a root, which has memory of its own, or a view:
/// `delta` bytes into another tensor.
struct Tensor {
  TensorSpec spec;
  std::string name;
  int lane = 0;
  int base = -1;  ///< the tensor that this is a view of; -1: a root
  size_t delta = 0;
  int node = -1;             ///< root: a node of the constant store
  bool variable = false;     ///< root with a node: a parameter, buffer or state that each run may change
  int input = -1;            ///< root: the caller's buffer of program input (or target) `input`
  int output = -1;           ///< root: the caller's buffer of program output `output`
  std::vector<int> writers;  ///< instances that must be done before this can be read
};

/// "Do not start before instance `instance` of lane `lane` is done."
struct WaitFor {
  int lane = 0;
  int instance = -1;
  bool decides = false;  ///< the host itself has to know whether it failed, and waits for that
};

/// A step on a replica, or a copy or reorder that binding inserted.
struct Instance {
  /// `fetch`: several of the caller's buffers into one tensor (inputs.cpp).
  enum Kind { launch, copy, fetch, print } kind = launch;
  int step = -1;
  int replica = -1;  ///< -1 outside regions
  int entry = -1;    ///< of the device list, for messages; -1: the host
  int lane = 0;
  std::vector<int> inputs, outputs;  ///< tensors
  std::unique_ptr<Executable> executable;
  size_t scratch_bytes = 0;
  bool can_fail = false;
  std::string implementation, reason;
  std::string uncertain;  ///< Prepared::uncertain
  std::vector<std::pair<int, int>> in_place;
  CopyShape copy_shape;
  size_t target_offset = 0, source_offset = 0;  ///< copy: bytes into the tensors
  std::vector<CopyPart> parts;                  ///< fetch: where each input goes in the output
  bool placeable = false;  ///< copy of a whole tensor to one run of bytes: the tensor could lie there from the start
  bool elided = false;     ///< and does; its target is written by its source's writers
  std::vector<int> after;  ///< instances that must be done before, besides the writers of the inputs
  bool early = false;      ///< depends on variables alone: done before all others of its lane
  bool commits = false;    ///< writes a variable: left out of a run that has failed
  std::string text;        ///< print: the line, newline included
  std::vector<int> steps;  ///< of what binding added for several: theirs
  int collective = -1;     ///< a number that its members, one a lane, share (collectives.cpp)
  std::optional<Op> op;    ///< of what binding added: a reorder, a check, a broadcast; none: its step's, or the kind's

  // Set by schedule.cpp.
  int position = -1;  ///< in its lane
  std::vector<WaitFor> waits;
  bool signals = false;
};

struct Root {
  int tensor = -1;
  size_t offset = 0;
};

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Instance> instances;           ///< in an order in which they could run one after another
  std::vector<int> outputs;                  ///< by program output: its tensor
  std::vector<std::vector<int>> values;      ///< by value of the program and replica: its tensor
  std::vector<std::vector<int>> lane_order;  ///< by lane: its instances that are not elided
  bool gathers_scalars = false;
  int guard = -1;  ///< of a training program: the instance that checks the loss
  struct Update {
    int variable = -1;  ///< root
    int value = -1;     ///< tensor, in the variable's format
  };
  std::vector<Update> updates;

  Root root(int tensor) const {
    Root found{tensor, 0};
    for (; tensors[static_cast<size_t>(found.tensor)].base >= 0;
         found.tensor = tensors[static_cast<size_t>(found.tensor)].base) {
      found.offset += tensors[static_cast<size_t>(found.tensor)].delta;
    }
    return found;
  }
  /// The root is of memory that binding plans: neither a constant nor the caller's.
  bool planned(int root) const {
    const Tensor& tensor = tensors[static_cast<size_t>(root)];
    return tensor.node < 0 && tensor.input < 0 && tensor.output < 0;
  }
  /// `tensor` takes up all of its root, and that is of planned memory.
  bool covers_planned_root(int tensor) const {
    const Root at = root(tensor);
    return planned(at.tensor) && at.offset == 0 &&
           tensors[static_cast<size_t>(tensor)].spec.bytes == tensors[static_cast<size_t>(at.tensor)].spec.bytes;
  }
};

struct BindContext {
  const Plan& plan;
  const Program& program;
  const DeviceSet& devices;
  std::vector<std::shared_ptr<const Kernels>> kernels;  ///< by lane
  ConstantStore& constants;
  int64_t batch = 0;
  bool fast_numerics = false;
  bool explain = false;
  bool deterministic = true;
  Seconds deadline = kDeadline;
  bool observe = false;  ///< Binding::observe() will be called
};

/// Steps to instances, values to tensors; operations are prepared here. Views (of scatter, replicate, transfer,
/// view, print) are found here too.
Result<Graph> expand(const BindContext& context);

/// Instances that go together, one a lane, as an operation among devices.
struct InstanceGroup {
  std::vector<int> members;
  int64_t time = 0;  ///< when, if what they need is done: that of instance i is 2i
};

/// The instances in another order: in that of their times, but each after what it needs. `groups` of several get the
/// numbers Instance::collective. `instead`, by instance: which one stands for it from now on; itself where it stays.
/// Errors: instances wait for each other in a circle; the graph is as it was.
Result<void> rearrange(Graph& graph, const std::vector<InstanceGroup>& groups, const std::vector<int>& instead);

/// What makes nothing but new values of variables comes last on asynchronous lanes (sink_updates.cpp).
/// Errors: those of rearrange().
Result<void> sink_updates(Graph& graph, const BindContext& context);

/// What asynchronous lanes read from the caller is brought before anything else, and few bytes in one go.
/// Errors: those of rearrange().
Result<void> fetch_inputs(Graph& graph, const BindContext& context);

/// What a step sends between distinct devices of one kind goes in buckets, each of which is one operation of all of them.
/// Where they have no such operations, copies stay. Errors: an operation that cannot be prepared; those of rearrange().
Result<void> form_collectives(Graph& graph, const BindContext& context);
/// After schedule(): all lanes have these operations in one order, or they would wait for each other. Errors: they don't.
Result<void> check_collectives(const Graph& graph);

/// Lets values lie where they are wanted: a replica's last value in its slice of what is gathered, a program
/// output in the caller's buffer, an update over the variable that it is for, an output over an input that dies. Only
/// where that changes nothing. What has no place where it is wanted is copied there.
void place_values(Graph& graph, const BindContext& context);

/// The part of place_values() for updates. A variable is written after all that read its old value, after the check of
/// the loss, and after whatever else may fail; place_updates.cpp.
void place_updates(Graph& graph, const BindContext& context);

/// Whether the instance, which writes a variable on an asynchronous lane, can be told there that the run has failed.
bool guardable(const Graph& graph, const Instance& instance, const DeviceSet& devices);

/// Orders each lane and finds the waits between them, leaving out those that others imply.
/// What writes a variable and cannot be told on its device that the run has failed waits until the host knows.
/// Returns, by instance and lane, the number of that lane's instances known to be done when it starts.
std::vector<std::vector<int32_t>> schedule(Graph& graph, const BindContext& context);

}  // namespace sheaf
