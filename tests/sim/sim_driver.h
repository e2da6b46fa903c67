// A driver of virtual GPUs. Enqueued work is executed only when somebody asks about its progress, in a pseudo-random order of
// the streams. It reports everything that a GPU would punish silently, or not at all today: reads of data not known to be
// there, overwriting data still being read, memory that nobody wrote, that is another device's or released, the host's pageable
// memory in a copy, changes of pinned memory that a copy has not read yet, kernels that access more than was announced,
// resources that are not released. Calls that CUDA refuses while a stream is captured fail here too.
#pragma once

#include "tests/sim/stream.h"

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>

namespace sheaf::sim {

/// Calls that are counted, and can be made to fail.
enum class Call {
  allocate,
  release,
  allocate_pinned,
  release_pinned,
  enable_peer,
  make_stream,
  make_event,
  load,
  function,
  record,
  wait,
  query,
  copy,
  fill,
  launch,
  host_function,
  begin_capture,
  end_capture,
  launch_graph,
  collective,
  count
};
std::string_view name_of(Call call);

/// Loaded code of kernels. The emulator's (emulated_module.h), or a test's own.
class KernelCode {
 public:
  virtual ~KernelCode() = default;
  /// Bytes of each parameter of an entry; none if there is no such entry.
  virtual std::optional<std::vector<size_t>> parameters(const std::string& entry) const = 0;
  virtual Result<void> launch(const std::string& entry, const cuda::Launch& launch, OperationMemory& memory) const = 0;
};

struct SimOptions {
  int devices = 2;
  int64_t memory_bytes = int64_t{256} << 20;  ///< of each device
  bool peers = true;                          ///< they can access each other's memory
  unsigned seed = 1;                          ///< of the order of execution
  std::string machine;                        ///< part of devices' UUIDs; empty: the process's number
  /// Seconds that an operation or a copy takes on the device: "layer 'fc', operation linear", "copy of 12 bytes".
  /// Nothing is known to be done before the host's clock has come so far. None: no time.
  std::function<double(const std::string& what)> seconds;
  /// The host's clock for that. 0: the real one, so what is enqueued when depends on how fast this machine is. Otherwise the
  /// clock stands still but for questions whether something is done, each of which takes so many seconds: then what runs
  /// beside what depends on the order of the calls alone.
  double seconds_per_question = 0;
  Violation violation;  ///< receives reports of misuse
  std::function<Result<std::shared_ptr<const KernelCode>>(const std::string& ptx)> load;
};

/// A piece of work on a device's clock.
struct Timed {
  std::string name;  ///< as SimOptions::seconds knows it
  size_t stream = 0;
  double begin = 0, end = 0;
};

class SimDriver final : public cuda::Driver {
 public:
  explicit SimDriver(SimOptions options);
  /// Executes the remaining work; reports what never finished and what was not released.
  ~SimDriver() override;

  // Injected failures.
  /// The n-th call of a kind from now on (1: the next one) fails, on `device` or on any.
  void fail(Call call, int64_t n, const std::string& reason, int device = kHost);
  /// The n-th kernel or host function enqueued from now on never ends.
  void hang(int64_t n);
  /// The n-th one faults when it is executed, after which its device refuses everything.
  void fault(int64_t n);
  /// From now on, or from the n-th call made for it on, a device refuses everything.
  void lose(int device, int64_t n = 0);

  /// How often a kind of call was made.
  int64_t calls(Call call) const;
  int64_t used_bytes(int device) const;
  /// What took time, in the order in which it was executed; kept if SimOptions::seconds is given.
  std::vector<Timed> history() const;
  /// The ranges that were ended, by name.
  std::map<std::string, int64_t> ranges() const;
  void violation(const std::string& text);

  /// Enqueues a function of the host's into a stream, as part of the operation that watch() opened.
  Result<void> enqueue(cuda::Stream stream, std::string_view what, std::function<Result<void>(OperationMemory&)> run);
  /// Enqueues a member's part in work that several streams do together; it is executed once all have reached it.
  Result<void> meet(cuda::Stream stream, std::string_view what, std::shared_ptr<Meeting> meeting, size_t member,
                    std::vector<cuda::Access> accesses);
  /// A meeting that won't take place completes without doing anything. From then on nothing need be in order, written or
  /// released: whoever ends one has given the run up.
  void call_off(std::span<const std::shared_ptr<Meeting>> meetings);
  /// Enqueues what a stream does with those of other processes: `go_on`, under the driver's lock, does what it can at once and says
  /// whether that was all. Its first call is the stream's coming to it.
  Result<void> exchange(cuda::Stream stream, std::string_view what, std::function<Result<bool>()> go_on,
                        std::vector<cuda::Access> accesses);
  /// Executes something if nobody has asked about progress since the last call: devices work while the host waits for something
  /// else, such as another process.
  void go_on_alone();
  bool capturing(cuda::Stream stream) const;
  /// For code that runs under the driver's lock: a Meeting's function. Reports reads of unwritten data.
  std::byte* member_memory(const void* data, size_t bytes, bool writes, const std::string& what);

  std::string version() override { return "virtual driver 1.0"; }
  int devices() const override { return options_.devices; }
  const cuda::DeviceProperties& properties(int device) const override { return properties_[static_cast<size_t>(device)]; }
  Result<cuda::MemoryInUse> memory(int device) override;
  Result<void*> allocate(int device, size_t bytes) override;
  void release(int device, void* memory) override;
  Result<void*> allocate_pinned(size_t bytes) override;
  void release_pinned(void* memory) override;
  Result<bool> enable_peer(int device, int peer) override;
  Result<cuda::Stream> make_stream(int device) override;
  void destroy(cuda::Stream stream) override;
  Result<cuda::DriverEvent> make_event(int device, bool timed) override;
  void destroy(cuda::DriverEvent event) override;
  Result<cuda::Module> load(int device, const std::string& ptx) override;
  void unload(int device, cuda::Module module) override;
  Result<cuda::Function> function(int device, cuda::Module module, const std::string& name) override;
  Result<void> record(cuda::DriverEvent event, cuda::Stream stream) override;
  Result<void> wait(cuda::Stream stream, cuda::DriverEvent event) override;
  Result<bool> done(cuda::DriverEvent event) override;
  Result<bool> done(cuda::Stream stream) override;
  Result<double> elapsed(cuda::DriverEvent from, cuda::DriverEvent to) override;
  void push_range(const std::string& name) override;
  void pop_range() override;
  Result<void> copy(cuda::Stream stream, void* target, int target_device, const void* source, int source_device,
                    const CopyShape& shape) override;
  Result<void> fill(cuda::Stream stream, void* memory, uint8_t value, size_t bytes) override;
  Result<void> raise(cuda::Stream stream, int32_t* word) override;
  Result<void> launch(cuda::Stream stream, const cuda::Launch& launch) override;
  Result<void> begin_capture(cuda::Stream stream) override;
  Result<cuda::Graph> end_capture(cuda::Stream stream) override;
  Result<void> launch(cuda::Stream stream, cuda::Graph graph) override;
  void destroy(cuda::Graph graph) override;
  bool watches() const override { return true; }
  void watch(cuda::Stream stream, std::span<const cuda::Access> accesses, std::string_view what) override;

 private:
  struct LoadedModule {
    int device = 0;
    std::shared_ptr<const KernelCode> code;
    std::map<std::string, std::unique_ptr<struct LoadedFunction>> functions;
  };
  struct Failure {
    Call call;
    int64_t in;
    std::string reason;
    int device;
  };
  using Lock = std::lock_guard<std::mutex>;

  // All of these are called with the lock held.
  /// Counts a call, and makes it fail if requested, if the device is gone, or if a capture forbids it.
  Result<void> begin(Call call, int device, const Stream* stream = nullptr);
  void violate(const std::string& text);
  void report_what_is_left();
  Name named(const Stream& stream, std::string_view what) const;
  Result<void> push(Stream& stream, Item item);
  /// A piece of the announced operation.
  Result<void> push_part(Stream& stream, Item item);
  /// Checks an item's accesses against everything enqueued before, and appends it.
  void order(Stream& stream, Item item);
  void inject(Item& item);
  /// What the driver makes of a copy's or fill's ends.
  std::vector<cuda::Access> rows(const void* data, size_t row_bytes, size_t count, size_t pitch, bool writes) const;
  bool runnable(Stream& stream);
  /// Executes the first item of some stream; false if none can go on.
  bool step();
  void execute(Stream& stream);
  template <typename Done>
  void progress(const Done& done);
  void device_fails(int device, const std::string& reason);
  /// Seconds since the driver was made, on the host's clock. Devices' clocks go at its rate.
  double now() const;
  /// Seconds that an item takes.
  double duration(const Item& item) const;
  Stream* stream(cuda::Stream handle) const { return reinterpret_cast<Stream*>(handle); }

  SimOptions options_;
  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
  const Violation report_ = [this](const std::string& text) { violate(text); };
  mutable std::mutex mutex_;
  std::vector<cuda::DeviceProperties> properties_;
  VirtualMemory memory_;
  std::mt19937 random_;
  Clock host_;  ///< what the host knows to be done
  std::vector<std::shared_ptr<Stream>> streams_;
  size_t next_stream_ = 0;
  std::map<void*, std::shared_ptr<Event>> events_;
  std::set<LoadedModule*> modules_;
  std::set<Graph*> graphs_;
  std::vector<std::optional<std::string>> refuses_;  ///< by device: why it no longer does anything
  std::vector<int64_t> lost_in_;                     ///< by device: calls until it is lost; 0: not at all
  std::array<int64_t, static_cast<size_t>(Call::count)> calls_{};
  std::vector<Failure> failures_;
  int64_t hang_in_ = 0, fault_in_ = 0;
  std::vector<Timed> history_;
  std::map<std::string, int64_t> ranges_;
  std::map<std::thread::id, std::vector<std::string>> open_ranges_;
  int64_t questions_seen_ = 0;  ///< by go_on_alone()
  bool hung_ = false;           ///< something never ends
  bool called_off_ = false;     ///< other members' parts of a meeting are meaningless
  std::set<std::string> reported_;
};

}  // namespace sheaf::sim
