// Everything that depends on weights alone: parameters and buffers, what `once` steps make of them (folded batch
// norms), and their reordered copies. Made once when weights are set, and shared: between replicas, and between
// the bindings of one model. Structurally equal work (same step or format, same inputs, same memory) is one node.
// Asking for a node only says that it is wanted; allocate() gives memory to all of them, so that what a binding will
// need is known before any of it is taken.
// A training program changes parameters, buffers and the optimiser's state, which lie here too: it reads and writes
// them where they are, and says changed() afterwards.
#pragma once

#include "runtime/device/device.h"
#include "runtime/plan/plan.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

/// A constant tensor's place: `offset` bytes into a node's buffer.
struct ConstantRef {
  int node = -1;
  size_t offset = 0;
  auto operator<=>(const ConstantRef&) const = default;
};

class ConstantStore {
 public:
  /// `host` holds the parameters and the optimiser's state. Both lists must outlive the store.
  ConstantStore(std::shared_ptr<Device> host, const std::vector<Parameter>& parameters,
                const std::vector<Parameter>& state);
  ~ConstantStore();
  ConstantStore(const ConstantStore&) = delete;
  ConstantStore& operator=(const ConstantStore&) = delete;

  /// Memory of `device` may lie here until the end: `owner` keeps it alive as long. Before anything is made on it.
  void keep(const Device& device, std::shared_ptr<const void> owner);
  /// The plain host buffer of parameter `index`, allocated at the first call. Whoever writes it calls changed().
  Result<void*> parameter_data(size_t index);
  /// The plain host buffer of entry `index` of the state, allocated and filled with its initial value at the first call.
  Result<void*> state_data(size_t index);
  /// Marks all weights as set: the next evaluate() makes everything anew. Allocates nothing.
  void changed();
  bool set() const { return set_; }
  /// Whether all parameters and buffers are finite, as they are now. Looked at once after each change.
  bool finite();
  /// Weights are set and all that depends on them is made.
  bool ready() const { return set_ && done_ == work_.size() && lasting_done_ == lasting_work_.size(); }

  /// The node of a parameter (host memory). Errors: no such parameter.
  Result<int> parameter(const std::string& name);
  /// The node of an entry of the optimiser's state (host memory). Errors: no such entry.
  Result<int> state(const std::string& name);
  /// Zeros in `device`'s memory, `spec.bytes` of them.
  ConstantRef zeros(const TensorSpec& spec, Device& device);
  /// A copy in `device`'s memory; `from` itself where it is there already.
  ConstantRef copy_to(ConstantRef from, const TensorSpec& spec, Device& device);
  /// `from`, which lies as `have`, reordered to `want` (cached by format).
  Result<ConstantRef> reorder(ConstantRef from, const TensorSpec& have, const TensorSpec& want, Device& device);
  /// The outputs of `step` (one of the plan's: its address tells it apart) on `inputs`. `prepare` is called where they
  /// are not yet known; the formats that it wants its inputs in are seen to here.
  Result<std::vector<ConstantRef>> derive(const Step& step, const std::vector<ConstantRef>& inputs,
                                          const std::vector<TensorSpec>& specs, Device& device,
                                          const std::function<Result<Prepared>()>& prepare);

  const TensorSpec& spec(int node) const { return nodes_[static_cast<size_t>(node)].spec; }
  int memory_space(int node) const { return nodes_[static_cast<size_t>(node)].device->memory_space(); }
  void* data(ConstantRef ref) const { return static_cast<char*>(nodes_[static_cast<size_t>(ref.node)].data) + ref.offset; }
  /// Bytes of the parameters in host memory, and of everything made from them.
  size_t parameter_bytes() const;
  size_t derived_bytes() const;

  enum class Kind { parameter, buffer, state, derived };
  struct Node {
    TensorSpec spec;
    Device* device = nullptr;
    Kind kind = Kind::derived;
    std::string name;        ///< of a parameter, buffer or entry of the state
    void* data = nullptr;    ///< null until allocate()
    std::optional<float> fill;  ///< host memory: what all elements are at first (a state, zeros)
    bool lasting = false;    ///< depends on no parameter: stays as it is when weights change
  };
  const std::vector<Node>& nodes() const { return nodes_; }

  /// Gives memory to what has none yet: all of the above only says what is wanted. Addresses stay as they are then.
  Result<void> allocate();
  /// Does what has not been done since weights were last set. If they never were, only what needs none.
  Result<void> evaluate();

 private:
  struct Work {
    std::unique_ptr<Executable> executable;  ///< null: a copy of inputs[0]
    std::vector<ConstantRef> inputs;
    std::vector<int> outputs;
    size_t scratch_bytes = 0;
    Device* device;
  };
  int add_node(TensorSpec spec, Device& device);
  Result<void> allocate(Node& node);
  void add_work(Work work);
  Result<void> evaluate(std::vector<Work>& work, size_t& done);

  std::shared_ptr<Device> host_;
  std::map<const Device*, std::shared_ptr<const void>> owners_;
  const std::vector<Parameter>& parameters_;
  const std::vector<Parameter>& state_;
  std::vector<Node> nodes_;
  std::vector<Work> work_;
  std::vector<Work> lasting_work_;  ///< of nodes that depend on no parameter
  std::map<std::string, int> parameter_nodes_, state_nodes_;
  std::map<size_t, int> zero_nodes_;  ///< by bytes, in host memory
  std::map<std::pair<ConstantRef, int>, std::vector<std::pair<TensorSpec, int>>> reorders_;
  std::map<std::tuple<const Step*, std::vector<ConstantRef>, int>, std::vector<int>> derived_;
  size_t done_ = 0, lasting_done_ = 0;  ///< work_[0, done_) is up to date
  size_t allocated_ = 0;                ///< nodes_[0, allocated_) have memory; later ones may
  bool set_ = false;
  std::optional<bool> finite_;          ///< none: not known since weights changed
};

}  // namespace sheaf
