// Resources of virtual GPUs, and calls that fail.
#include "tests/sim/sim_driver.h"

#include "tests/sim/loaded_function.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace sheaf::sim {

std::string_view name_of(Call call) {
  static constexpr std::string_view names[] = {"cuMemAlloc",
                                               "cuMemFree",
                                               "cuMemHostAlloc",
                                               "cuMemFreeHost",
                                               "cuCtxEnablePeerAccess",
                                               "cuStreamCreate",
                                               "cuEventCreate",
                                               "cuModuleLoadData",
                                               "cuModuleGetFunction",
                                               "cuEventRecord",
                                               "cuStreamWaitEvent",
                                               "cuEventQuery",
                                               "cuMemcpyAsync",
                                               "cuMemsetAsync",
                                               "cuLaunchKernel",
                                               "host function",
                                               "cuStreamBeginCapture",
                                               "cuStreamEndCapture",
                                               "cuGraphLaunch",
                                               "ncclGroupEnd"};
  return names[static_cast<size_t>(call)];
}

SimDriver::SimDriver(SimOptions options)
    : options_(std::move(options)),
      memory_(options_.devices, options_.memory_bytes, report_),
      random_(options_.seed),
      refuses_(static_cast<size_t>(options_.devices)),
      lost_in_(static_cast<size_t>(options_.devices)) {
  for (int i = 0; i < options_.devices; ++i) {
    cuda::DeviceProperties properties;
    properties.name = "virtual GPU";
    properties.pci_bus_id = "0000:0" + std::to_string(i) + ":00.0";
    properties.uuid = (options_.machine.empty() ? std::to_string(getpid()) : options_.machine) + ":" + std::to_string(i);
    properties.major = 9;
    properties.multiprocessors = 2;
    properties.memory_bytes = options_.memory_bytes;
    properties.l2_bytes = 1 << 20;
    properties.shared_bytes_per_block = 48 << 10;
    properties.launches_together = true;
    properties_.push_back(std::move(properties));
  }
}

SimDriver::~SimDriver() {
  const Lock lock(mutex_);
  while (step()) {
  }
  report_what_is_left();
  for (LoadedModule* module : modules_) delete module;
  for (Graph* graph : graphs_) delete graph;
}

void SimDriver::report_what_is_left() {
  if (hung_ || called_off_) return;  // nothing could be given back
  const auto refuses = [&](int device) { return refuses_[static_cast<size_t>(device)].has_value(); };
  for (const auto& stream : streams_) {
    if (refuses(stream->device)) continue;
    const bool in_vain = std::any_of(refuses_.begin(), refuses_.end(), [](const auto& reason) { return reason.has_value(); });
    if (!stream->queue.empty() && !in_vain) violate("never got done: " + *stream->queue.front().what);
    if (!stream->destroyed) violate("a stream of cuda:" + std::to_string(stream->device) + " was not destroyed");
  }
  for (const auto& [thread, open] : open_ranges_)
    for (const std::string& name : open) violate("a range has no end: " + name);
  for (const std::string& text : memory_.alive()) violate("not released: " + text);
  if (!events_.empty()) violate(std::to_string(events_.size()) + " events were not destroyed");
  if (!graphs_.empty()) violate(std::to_string(graphs_.size()) + " graphs were not destroyed");
  if (!modules_.empty()) violate(std::to_string(modules_.size()) + " modules were not unloaded");
}

void SimDriver::violate(const std::string& text) {
  if (called_off_ || reported_.size() >= 50 || !reported_.insert(text).second) return;
  if (options_.violation) {
    options_.violation(text);
  } else {
    std::fprintf(stderr, "virtual GPU: %s\n", text.c_str());
  }
}

void SimDriver::violation(const std::string& text) {
  const Lock lock(mutex_);
  violate(text);
}

void SimDriver::fail(Call call, int64_t n, const std::string& reason, int device) {
  const Lock lock(mutex_);
  failures_.push_back({call, n, reason, device});
}

void SimDriver::hang(int64_t n) {
  const Lock lock(mutex_);
  hang_in_ = n;
}

void SimDriver::fault(int64_t n) {
  const Lock lock(mutex_);
  fault_in_ = n;
}

void SimDriver::lose(int device, int64_t n) {
  const Lock lock(mutex_);
  lost_in_[static_cast<size_t>(device)] = n;
  if (n == 0) device_fails(device, "device lost");
}

int64_t SimDriver::calls(Call call) const {
  const Lock lock(mutex_);
  return calls_[static_cast<size_t>(call)];
}

int64_t SimDriver::used_bytes(int device) const {
  const Lock lock(mutex_);
  return memory_.used(device);
}

double SimDriver::now() const {
  if (options_.seconds_per_question > 0)
    return options_.seconds_per_question * static_cast<double>(calls_[static_cast<size_t>(Call::query)]);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - made_).count();
}

double SimDriver::duration(const Item& item) const {
  return options_.seconds && !item.name.empty() ? options_.seconds(item.name) : 0;
}

std::vector<Timed> SimDriver::history() const {
  const Lock lock(mutex_);
  return history_;
}

std::map<std::string, int64_t> SimDriver::ranges() const {
  const Lock lock(mutex_);
  return ranges_;
}

void SimDriver::push_range(const std::string& name) {
  const Lock lock(mutex_);
  open_ranges_[std::this_thread::get_id()].push_back(name);
}

void SimDriver::pop_range() {
  const Lock lock(mutex_);
  auto& open = open_ranges_[std::this_thread::get_id()];
  if (open.empty()) return violate("a range ends that the thread has not begun");
  ++ranges_[open.back()];
  open.pop_back();
}

Result<void> SimDriver::begin(Call call, int device, const Stream* stream) {
  ++calls_[static_cast<size_t>(call)];
  const std::string name(name_of(call));
  if (device != kHost) {
    int64_t& lost = lost_in_[static_cast<size_t>(device)];
    if (lost > 0 && --lost == 0) device_fails(device, "device lost");
    if (const auto& reason = refuses_[static_cast<size_t>(device)]) return Error(name + ": " + *reason);
  }
  for (Failure& failure : failures_) {
    if (failure.call != call || (failure.device != kHost && failure.device != device) || --failure.in != 0) continue;
    for (const auto& other : streams_) other->capture_broken |= other.get() == stream;
    if (call == Call::query && device != kHost) device_fails(device, failure.reason);  // a driver's way to say so
    return Error(name + ": " + failure.reason);
  }
  // Calls that a thread may not make while it captures.
  const bool unsafe = call <= Call::release_pinned || call == Call::load || call == Call::query || call == Call::record ||
                      call == Call::wait || call == Call::collective || call == Call::launch_graph;
  for (const auto& other : streams_) {
    if (!unsafe || !other->capturing) continue;
    const bool own = stream == other.get();
    if (!own && other->capturer != std::this_thread::get_id()) continue;
    if (!own && (call == Call::record || call == Call::wait || call == Call::collective || call == Call::launch_graph))
      continue;
    other->capture_broken = true;
    violate(name + " while a stream is captured");
    return Error(name + ": operation not permitted when stream is capturing");
  }
  return {};
}

void SimDriver::device_fails(int device, const std::string& reason) {
  auto& refuses = refuses_[static_cast<size_t>(device)];
  if (!refuses) refuses = reason;
  for (const auto& stream : streams_) {
    if (stream->device != device) continue;
    // Nothing of it happens, but nobody waits for it either, unless all were to meet.
    for (Item& item : stream->queue) {
      if (item.kind == Item::record) item.event->done = std::max(item.event->done, item.number);
    }
    stream->queue.clear();
  }
}

Result<cuda::MemoryInUse> SimDriver::memory(int device) {
  const Lock lock(mutex_);
  if (const auto& reason = refuses_[static_cast<size_t>(device)]) return Error("cuMemGetInfo: " + *reason);
  return cuda::MemoryInUse{memory_.capacity() - memory_.used(device), memory_.capacity()};
}

Result<void*> SimDriver::allocate(int device, size_t bytes) {
  const Lock lock(mutex_);
  if (auto ok = begin(Call::allocate, device); !ok) return ok.error();
  if (bytes == 0) return Error("cuMemAlloc: invalid argument");
  void* memory = memory_.allocate(device, bytes);
  if (!memory) return Error("cuMemAlloc: out of memory");
  return memory;
}

void SimDriver::release(int device, void* memory) {
  const Lock lock(mutex_);
  auto ok = begin(Call::release, device);
  const bool gone = refuses_[static_cast<size_t>(device)].has_value();
  if (!ok && !gone) return;
  if (hung_ && !gone) violate("cuMemFree would wait for what never ends");
  memory_.release(device, memory, gone || hung_ || called_off_ ? nullptr : &host_);
}

Result<void*> SimDriver::allocate_pinned(size_t bytes) {
  const Lock lock(mutex_);
  if (auto ok = begin(Call::allocate_pinned, kHost); !ok) return ok.error();
  if (bytes == 0) return Error("cuMemHostAlloc: invalid argument");
  void* memory = memory_.allocate(kHost, bytes);
  if (!memory) return Error("cuMemHostAlloc: out of memory");
  return memory;
}

void SimDriver::release_pinned(void* memory) {
  const Lock lock(mutex_);
  if (!begin(Call::release_pinned, kHost)) return;
  bool gone = hung_ || called_off_;
  for (const auto& reason : refuses_) gone |= reason.has_value();
  memory_.release(kHost, memory, gone ? nullptr : &host_);
}

Result<bool> SimDriver::enable_peer(int device, int peer) {
  const Lock lock(mutex_);
  if (auto ok = begin(Call::enable_peer, device); !ok) return ok.error();
  if (device == peer) return Error("cuCtxEnablePeerAccess: invalid device ordinal");
  if (options_.peers) memory_.let_reach(device, peer);
  return options_.peers;
}

Result<cuda::Stream> SimDriver::make_stream(int device) {
  const Lock lock(mutex_);
  if (auto ok = begin(Call::make_stream, device); !ok) return ok.error();
  streams_.push_back(std::make_shared<Stream>());
  streams_.back()->id = next_stream_++;
  streams_.back()->device = device;
  return reinterpret_cast<cuda::Stream>(streams_.back().get());
}

void SimDriver::destroy(cuda::Stream handle) {
  const Lock lock(mutex_);
  Stream& destroyed = *stream(handle);
  if (destroyed.destroyed) violate("a stream of cuda:" + std::to_string(destroyed.device) + " is destroyed twice");
  if (destroyed.capturing) violate("a stream is destroyed while it is captured");
  destroyed.destroyed = true;  // its contents are still executed
}

Result<cuda::DriverEvent> SimDriver::make_event(int device, bool timed) {
  const Lock lock(mutex_);
  if (auto ok = begin(Call::make_event, device); !ok) return ok.error();
  auto event = std::make_shared<Event>();
  event->device = device;
  event->timed = timed;
  events_[event.get()] = event;
  return reinterpret_cast<cuda::DriverEvent>(event.get());
}

void SimDriver::destroy(cuda::DriverEvent event) {
  const Lock lock(mutex_);
  if (events_.erase(event) == 0) violate("an event is destroyed that isn't there (twice?)");
}

Result<cuda::Module> SimDriver::load(int device, const std::string& ptx) {
  const Lock lock(mutex_);
  if (auto ok = begin(Call::load, device); !ok) return ok.error();
  if (!options_.load) return Error("cuModuleLoadData: these virtual GPUs run no kernels");
  auto code = options_.load(ptx);
  if (!code) return Error("cuModuleLoadData: " + code.error().message());
  auto* module = new LoadedModule{device, std::move(*code), {}};
  modules_.insert(module);
  return reinterpret_cast<cuda::Module>(module);
}

void SimDriver::unload(int device, cuda::Module handle) {
  const Lock lock(mutex_);
  auto* module = reinterpret_cast<LoadedModule*>(handle);
  if (modules_.erase(module) == 0) return violate("a module is unloaded that isn't there (twice?)");
  if (module->device != device)
    violate("a module of cuda:" + std::to_string(module->device) + " is unloaded from another device");
  delete module;  // enqueued work keeps the code
}

Result<cuda::Function> SimDriver::function(int device, cuda::Module handle, const std::string& name) {
  const Lock lock(mutex_);
  auto* module = reinterpret_cast<LoadedModule*>(handle);
  if (modules_.count(module) == 0) return Error("cuModuleGetFunction: invalid resource handle");
  if (module->device != device)
    violate("a function of a module of cuda:" + std::to_string(module->device) + " is looked up on another device");
  if (auto ok = begin(Call::function, module->device); !ok) return ok.error();
  const auto sizes = module->code->parameters(name);
  if (!sizes) return Error("cuModuleGetFunction: named symbol not found");
  auto& made = module->functions[name];
  if (!made) made.reset(new LoadedFunction{module->device, name, *sizes, module->code});
  return reinterpret_cast<cuda::Function>(made.get());
}

}  // namespace sheaf::sim
