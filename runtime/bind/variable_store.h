// Everything that depends only on weights: parameters and buffers, what `once` steps make of them (folded batch
// norms), and their reordered copies. Made once when weights are set, and shared: between replicas, and between
// the bindings of one model. Structurally equal work (same step or format, same inputs, same memory) is one node.
// Requesting a node only marks it as wanted; allocate() then gives memory to all wanted nodes, so a binding's needs are known
// before any memory is taken.
//
// Parameters, buffers and the optimiser's state are *variables*: a training program changes them in place and calls changed()
// afterwards. The first binding that uses a variable chooses its home, its device and format, which then stays; the caller
// reads and writes variables as plain tensors wherever they live.
//
// Several threads may bind and run programs that share a store. Hold lock() while calling its functions (a binding does from
// its first call to its last), except set(), made() and changed(). A run that finds everything made takes no lock: it compares
// made() with how much there was when it was bound.
#pragma once

#include "runtime/base/id.h"
#include "runtime/bind/unfinished.h"
#include "runtime/bind/transfer.h"
#include "runtime/plan/plan.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

/// A tensor that a variable store holds.
using NodeId = Id<class VariableStore>;

/// A constant tensor's place: `offset` bytes into a node's buffer.
struct StoredRef {
  NodeId node;
  size_t offset = 0;
  auto operator<=>(const StoredRef&) const = default;
};

class VariableStore {
 public:
  /// `host` holds variables that are set before they have a home. Both lists must outlive the store.
  VariableStore(std::shared_ptr<Device> host, const std::vector<Parameter>& parameters, const std::vector<Parameter>& state);
  ~VariableStore();
  VariableStore(const VariableStore&) = delete;
  VariableStore& operator=(const VariableStore&) = delete;

  /// Permission to call everything else here, for as long as it is held. A thread takes it once. What was under way is done then.
  [[nodiscard]] std::unique_lock<std::mutex> lock() {
    std::unique_lock held(mutex_);
    if (Unfinished* runs = unfinished()) runs->settle();
    return held;
  }
  /// Runs that write variables are under way (null: no longer); none of another binding are. Without lock().
  void under_way(Unfinished* runs) { unfinished_.store(runs, std::memory_order_release); }
  /// They settle with lock(). Null: there are none.
  Unfinished* unfinished() const { return unfinished_.load(std::memory_order_acquire); }

  /// The store may hold memory of `device` until the end, so `owner` keeps the device alive. Call this before anything is made
  /// on it.
  void keep(const Device& device, std::shared_ptr<const void> owner);

  /// The deadline of queues opened from here on (Device::open_queue()): the current binding's.
  void wait_at_most(Seconds deadline) { deadline_ = deadline; }

  /// The node of a parameter, buffer or entry of the optimiser's state. Errors: no such name.
  Result<NodeId> variable(const std::string& name);
  /// The value of a variable to, or from, plain host memory. A variable that was never set reads as zeros, a state as its
  /// initial value. Call changed() after writing parameters. In a world all ranks read, and write, together, and the same values.
  /// Errors: a device's, too little memory.
  Result<void> read(NodeId variable, void* plain);
  Result<void> write(NodeId variable, const void* plain);
  /// Marks all weights as set: the next evaluate() remakes everything. Allocates nothing. Call it without lock(): nobody binds
  /// or runs while weights change.
  void changed();
  /// Whether weights were ever set. Without lock().
  bool set() const { return set_.load(std::memory_order_acquire); }
  /// How much of work() is done since weights were last set, in its order. Needs no lock(): whoever reads a number sees the
  /// work that it counts.
  size_t made() const { return done_.load(std::memory_order_acquire); }
  /// How much is to be made from weights, for all bindings.
  size_t work() const { return work_.size(); }

  /// Drops requests that were never allocated, left behind by a failed bind().
  void forget_plans();
  /// Places `variable` on `device`, plain, unless some binding has settled that already (settled()).
  void set_home(NodeId variable, Device& device);
  /// Also sets its format. Only for a variable that isn't settled.
  void set_format(NodeId variable, const TensorSpec& spec);
  bool settled(NodeId node) const { return nodes_[node].data != nullptr; }

  /// `variable`, which has a home, in `device`'s memory, where a program keeps it on each replica: itself if it lives there, else a
  /// copy of its own format, which begins with its value and which write() sets too.
  NodeId copy_of(NodeId variable, Device& device);
  /// Elements [begin, begin + count) of a variable, flattened, in `device`'s memory.
  struct Share {
    Device* device = nullptr;
    int64_t begin = 0, count = 0;
  };
  /// `variable`, which a program keeps only as these shares, which together cover it: a node for each, plain and of one
  /// dimension. Errors: it is already kept in other shares.
  Result<std::vector<NodeId>> shares_of(NodeId variable, const std::vector<Share>& shares);

  /// A run has given `variables` new values: values made from them that aren't among them (copies, a whole besides its shares)
  /// are out of date until refresh(). Without lock().
  void updated(const std::vector<NodeId>& variables);
  /// Whether there is anything to refresh. Without lock().
  bool stale() const { return any_stale_.load(std::memory_order_acquire); }
  /// Brings out-of-date values up to date. Errors: a device's.
  Result<void> refresh();

  /// Zeros in `device`'s memory, `spec.bytes` of them.
  StoredRef zeros(const TensorSpec& spec, Device& device);
  /// A copy in `device`'s memory; `from` itself if it is there already. Plain, or in a format of `device`'s kind.
  StoredRef copy_to(StoredRef from, const TensorSpec& spec, Device& device);
  /// `from`, whose format is `have`, reordered to `want` (cached by format).
  Result<StoredRef> reorder(StoredRef from, const TensorSpec& have, const TensorSpec& want, Device& device);
  /// The outputs of `step` (one of the plan's: its address tells it apart) on `inputs`, and for these sizes where a generated kernel
  /// reads any. `prepare` is called if they are not yet known; its inputs are brought into the formats that it wants.
  Result<std::vector<StoredRef>> derive(const Step& step, const std::vector<StoredRef>& inputs,
                                        const std::vector<int64_t>& sizes, const std::vector<TensorSpec>& specs, Device& device,
                                        const std::function<Result<Prepared>()>& prepare);

  enum class Kind { parameter, buffer, state, derived };
  struct Node {
    TensorSpec spec;
    Device* device = nullptr;
    Kind kind = Kind::derived;
    std::string name;            ///< of a variable
    void* data = nullptr;        ///< null until allocate()
    void* given = nullptr;       ///< a variable's value until then: plain, in host memory
    std::optional<float> fill;   ///< the initial value of all elements (a state, zeros)
    bool lasting = false;        ///< depends on no parameter: stays as it is when weights change
    bool wanted = false;         ///< by the current binding: allocate() gives it memory
    std::vector<NodeId> copies;  ///< of a variable, in other memories
    NodeId copied;               ///< of a copy: its variable
    std::vector<NodeId> shares;  ///< of a variable: once they have memory, they hold its value
    NodeId share_of;             ///< of a share: its variable
    int64_t begin = 0;           ///< of a share: its first element
    bool stale = false;          ///< an out-of-date copy, or an out-of-date whole besides its shares
  };
  const IdVector<NodeId, Node>& nodes() const { return nodes_; }
  const TensorSpec& spec(NodeId node) const { return nodes_[node].spec; }
  Device& device(NodeId node) const { return *nodes_[node].device; }
  int memory_space(NodeId node) const { return device(node).memory_space(); }
  void* data(StoredRef ref) const { return static_cast<char*>(nodes_[ref.node].data) + ref.offset; }
  /// Bytes of memory that a node has, or will have once wanted nodes are allocated: none for a variable that is kept only in
  /// shares.
  size_t bytes_of(const Node& node) const;
  /// Bytes of the variables, and of everything made from them: in all memories, or in one.
  size_t parameter_bytes(std::optional<int> memory_space = {}) const;
  size_t derived_bytes(std::optional<int> memory_space = {}) const;

  /// Allocates memory for wanted nodes that have none yet; the functions above only mark them. Homes and addresses then stay.
  Result<void> allocate();
  /// Does the work that has not been done since weights were last set; if they never were, only the work that needs none.
  Result<void> evaluate();
  /// A queue of `device`, for work between runs.
  Result<Queue*> queue(Device& device);

 private:
  struct Work {
    std::unique_ptr<Executable> executable;
    std::vector<StoredRef> inputs;
    std::vector<NodeId> outputs;
    size_t scratch_bytes = 0;
    Device* device;
    bool copies = false;  ///< inputs[0] to another memory: there is no executable
  };
  Node& at(NodeId node) { return nodes_[node]; }
  NodeId add_node(TensorSpec spec, Device& device);
  Result<void> allocate(Node& node);
  Result<void> fill(const Node& node);
  Result<void> bring(NodeId copy);
  /// Whether the variable's value is in its shares.
  bool in_shares(const Node& variable) const;
  /// From its shares to plain host memory, or the reverse.
  Result<void> read_shares(const Node& variable, void* plain);
  Result<void> write_shares(const Node& variable, const void* plain);
  /// Shares that have just been given memory take over their variable's value.
  Result<void> fill_shares(NodeId variable);
  /// The whole of a variable that is kept in shares, where it has memory.
  Result<void> join_shares(NodeId variable);
  void mark_stale(NodeId node);
  /// Copies the value of a node that has memory to plain host memory: in a world, on all ranks.
  Result<void> give(const Node& node, void* plain);
  /// Copies the bytes at `source`, in a memory of `source_device`, to `to`, in another; in a world all ranks do this together.
  Result<void> carry(Device& source_device, const TensorSpec& source_spec, void* source, const Node& to);
  Result<TensorPlace> place(Device& device, const TensorSpec& spec, void* data);
  void add_work(Work work);
  Result<void> run(Work& work);
  /// Drops nodes without memory; returns how many at the beginning of the list stay.
  size_t forget(std::vector<Work>& work);

  std::shared_ptr<Device> host_;
  std::map<const Device*, std::shared_ptr<const void>> owners_;
  std::map<Device*, std::unique_ptr<Queue>> queues_;
  Seconds deadline_ = kDeadline;
  const std::vector<Parameter>& parameters_;
  const std::vector<Parameter>& state_;
  IdVector<NodeId, Node> nodes_;
  std::vector<Work> work_;
  std::vector<Work> lasting_work_;  ///< of nodes that depend on no parameter
  std::map<std::string, NodeId> variables_;
  std::map<size_t, NodeId> zero_nodes_;  ///< by bytes, in host memory
  std::map<std::pair<StoredRef, int>, std::vector<std::pair<TensorSpec, NodeId>>> reorders_;
  std::map<std::tuple<const Step*, std::vector<StoredRef>, std::vector<int64_t>, int>, std::vector<NodeId>> derived_;
  std::mutex mutex_;
  size_t lasting_done_ = 0;
  std::atomic<size_t> done_{0};  ///< work_[0, done_) is up to date
  std::atomic<bool> set_{false};
  std::atomic<bool> any_stale_{false};
  std::atomic<Unfinished*> unfinished_{nullptr};
};

}  // namespace sheaf
