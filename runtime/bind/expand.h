// The builder behind expand() (graph.h): one class in seven files, by what they add: the program's frame (expand.cpp),
// operations (launch.cpp), other formats (reorder.cpp), data movement (movement.cpp, scatter_gather.cpp), what only training
// programs have (variables.cpp), and the formats that variables are kept in (variable_format.cpp).
#pragma once

#include "runtime/bind/fuse_norms.h"
#include "runtime/bind/graph.h"

namespace sheaf {

class Expansion {
 public:
  Expansion(const BindContext& context, SymbolTable symbols, std::vector<std::vector<int>> region_entries);
  Result<Graph> run();

 private:
  /// Where one replica of a step runs.
  struct Spot {
    int replica = 0;  ///< 0 outside regions
    int entry = -1;   ///< -1: the host
    int lane = 0;
    bool in_region = false;
  };

  // expand.cpp
  Result<void> add_sources();
  Result<int> add_input(int value, int number);
  Result<void> add_step(int index);
  Result<void> add_outputs();
  /// Where a place is, on each of its replicas. An index beyond the device list is an error at `location`.
  Result<std::vector<Spot>> spots(const Place& place, const std::string& layer, const Location& location) const;
  Result<TensorSpec> value_spec(int value, int replica) const;
  int add_tensor(TensorSpec spec, std::string name, int lane);
  int add_view(int of, size_t delta, TensorSpec spec, std::string name, int lane);
  Instance& add_instance(Instance::Kind kind, int step, const Spot& spot);
  /// The tensor of a step's input on a replica.
  int at(int value, int replica) const;
  void define(int value, int replica, int tensor);
  /// Depends on weights alone, and these don't change from run to run.
  bool is_constant(int tensor) const;
  ConstantRef constant_ref(int tensor) const;
  Error located(Error error, const Step& step, const Spot& spot) const;

  // launch.cpp
  Result<void> launch_step(int index, const Spot& spot);
  /// Of `step`, which is the program's step `index`, or a fused one with the mask of batch norm `norm`.
  Result<void> launch(const Step& step, int index, const Spot& spot, int norm);
  /// There is such a fused operation, and the device there has it.
  bool fuses(const NormFusion* fusion, const Spot& spot) const;
  Result<void> once_step(int index, const Spot& spot, const std::vector<int>& inputs, const std::vector<TensorSpec>& outputs,
                         const std::function<Result<Prepared>()>& prepare);
  /// Its outputs are zeros, without any work.
  Result<void> zero_step(int index, const Spot& spot, const std::vector<TensorSpec>& outputs);
  Instance& add_launch(int step, const Spot& spot, std::vector<int> inputs, std::vector<int> outputs, Prepared prepared);

  // reorder.cpp
  /// `tensor` in the format of `want`, for use on `spot`: itself, or a reordered copy.
  Result<int> in_format(int tensor, const TensorSpec& want, int step, const Spot& spot);
  /// The same for a tensor that is all of a variable: one copy serves all lanes of a memory.
  Result<int> variable_in_format(int variable, const TensorSpec& want, int step, const Spot& spot);
  /// The lane that has the least reordering of variables to do yet, among those that share `lane`'s memory.
  int lane_for_reorder(int lane, size_t bytes);
  Result<int> add_reorder(int tensor, const TensorSpec& want, int step, const Spot& spot);
  /// Who asks for another format, and who left the tensor in the one it has.
  std::string reason_for_reorder(int tensor, const TensorSpec& want, int step) const;
  Result<int> in_plain(int tensor, int step, const Spot& spot);

  // variables.cpp
  /// The root of a parameter, buffer or entry of the optimiser's state: a variable in a program with updates. Where nobody
  /// has settled that yet, it lives where `spot` is.
  Result<int> add_weight(const std::string& name, const Spot& spot);
  /// The sum of the replicas' values, left to right, on one device.
  Result<void> reduce(int index);
  /// The step's result at `target`: the sum of `parts`, which lie in its memory, left to right.
  Result<void> add_sum(int index, std::vector<int> parts, const Spot& target);
  /// After the step that makes the loss of a program with updates: the check of it that they wait for.
  Result<void> add_guard(int index);
  Result<void> add_updates();
  /// An operation that stands in no plan, on tensors that lie in the memory of `spot`'s lane.
  Result<Prepared> prepare_own(const Step& step, std::vector<int>& inputs, const std::vector<TensorSpec>& outputs, int index,
                               const Spot& spot);

  // variable_format.cpp
  /// A variable whose format isn't settled, with its views and copies on other devices of its kind: all lie alike.
  struct Unsettled {
    std::vector<int> roots;      ///< the variable's, and those of copies
    std::vector<int> casts;      ///< those of values cast from one of them, and of their copies
    std::vector<int> instances;  ///< that make the copies of the variable
  };
  /// Notes that `tensor` is read as `want`: a variable that nobody has read yet is kept so from here on, where that will do.
  void settle_format(int tensor, const TensorSpec& want, const Spot& spot);
  /// Notes that a kernel makes `output` of the elements of `input` alone, both plain by now (a cast): a variable that nobody
  /// has read but to cast it will be kept as what is cast is read. False where that isn't so.
  bool follow_cast(const Step& step, int input, const Prepared& prepared) const;
  /// How the inputs of a kernel are at hand, where those that are unsettled lie as the others do.
  void offer_formats(const std::vector<int>& inputs, std::vector<TensorSpec>& specs);
  /// Some generated kernel finds the variable's elements by their indices.
  bool read_by_index(const std::string& name) const;
  /// Where `tensor` is one of these; else null.
  Unsettled* unsettled(int tensor);

  // scatter_gather.cpp
  Result<void> scatter(int index);
  /// Rows of `plain` along `dim` from `first`, of the size of `spec`, in the memory of `to`'s lane: a view where that will do.
  int add_chunk(int index, int plain, int dim, size_t first, const TensorSpec& spec, const Spot& to);
  Result<void> gather(int index);

  // movement.cpp
  Result<void> replicate(int index);
  Result<void> view(int index, const Spot& spot);
  Result<void> print(int index, const Spot& spot);
  /// `tensor` in the memory of `spot`'s lane, whole.
  Result<int> moved(int tensor, const std::string& name, int step, const Spot& spot);
  bool same_memory(int lane_a, int lane_b) const;
  /// Where a copy between the memories of `spot` and of lane `other` stands: at `spot`, or, since the host's queue reaches
  /// host memory alone, any other the host's too, in lane `other`.
  Spot who_copies(Spot spot, int other) const;
  /// Whether an operation of `lane` can have an operand `offset` bytes into a buffer.
  bool may_lie_at(size_t offset, int lane) const;

  const BindContext& context_;
  SymbolTable symbols_;
  std::vector<std::vector<int>> region_entries_;
  NormFusions fusions_;                       ///< none where no device does any
  std::map<std::pair<int, int>, int> masks_;  ///< of fused batch norms: by step and replica
  Graph graph_;
  std::vector<size_t> reordering_;                                  ///< by lane: bytes of variables
  std::map<std::string, int> variables_;                            ///< by name: the root
  std::map<int, Unsettled> unsettled_;                              ///< by the variable's root
  std::vector<std::vector<int>> value_tensors_;                     ///< by value and replica
  std::vector<std::vector<std::pair<TensorSpec, int>>> reordered_;  ///< by tensor: its copies in other formats
};

}  // namespace sheaf
