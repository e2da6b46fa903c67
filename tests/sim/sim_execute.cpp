// Execution in any order the streams allow; captures and graphs; work that several streams do together.
#include "tests/sim/loaded_function.h"

#include <algorithm>

namespace sheaf::sim {

bool SimDriver::runnable(Stream& stream) {
  if (stream.queue.empty()) return false;
  Item& item = stream.queue.front();
  if (item.never_ends) return false;
  if (item.kind == Item::wait) return item.event->done >= item.number;
  if (item.kind == Item::meet) {  // it comes to the head, or it may go on
    const Meeting& meeting = *item.meeting;
    return meeting.done || !meeting.at_head[item.member];
  }
  if (item.kind == Item::exchange) {
    stream.open.reset();
    auto done = item.go_on();
    if (done) return *done;
    violate(*item.what + ": " + done.error().message());
    device_fails(stream.device, done.error().message());  // clears its queue
    return false;
  }
  return true;
}

bool SimDriver::step() {
  std::vector<Stream*> ready;
  for (const auto& stream : streams_) {
    if (runnable(*stream)) ready.push_back(stream.get());
  }
  std::erase_if(ready, [](const Stream* stream) { return stream->queue.empty(); });  // another one has lost its device
  if (ready.empty()) return false;
  execute(*ready[random_() % ready.size()]);
  return true;
}

void SimDriver::execute(Stream& stream) {
  Item& head = stream.queue.front();
  if (head.kind == Item::meet && !head.meeting->done) {
    Meeting& meeting = *head.meeting;
    stream.open.reset();
    meeting.at_head[head.member] = true;
    meeting.time = std::max({meeting.time, stream.time, head.asked});
    if (std::find(meeting.at_head.begin(), meeting.at_head.end(), false) != meeting.at_head.end()) return;
    meeting.done = true;
    const auto kept = head.meeting;
    if (auto ok = kept->run(); !ok) device_fails(stream.device, ok.error().message());
    return;
  }
  const Item item = std::move(head);
  stream.queue.pop_front();
  const double begin = std::max(stream.time, item.asked);
  stream.time = begin + duration(item);
  if (options_.seconds && !item.name.empty()) history_.push_back({item.name, stream.id, begin, stream.time});
  if (item.kind == Item::wait && item.time) stream.time = std::max(stream.time, *item.time);
  if (item.kind == Item::meet) stream.time = std::max(stream.time, item.meeting->time);
  if (item.kind == Item::exchange) return;
  if (item.kind == Item::record) {
    *item.time = stream.time;
    item.event->done = std::max(item.event->done, item.number);
  } else if (item.kind == Item::operation) {
    stream.open = std::make_unique<OperationMemory>(memory_, report_, item.what, item.accesses);
  } else if (item.kind == Item::wait || item.kind == Item::meet) {
    stream.open.reset();
  } else if (item.faults) {
    device_fails(stream.device, "an illegal memory access was encountered");
  } else {
    OperationMemory nothing(memory_, report_, item.what, {});
    OperationMemory& memory = stream.open && item.accesses.empty() ? *stream.open : nothing;
    auto ok = item.run(memory);
    if (ok) return;
    violate(*item.what + ": " + ok.error().message());
    device_fails(stream.device, ok.error().message());
  }
}

template <typename Done>
void SimDriver::progress(const Done& done) {
  const bool wait = random_() % 3 != 0;
  for (unsigned steps = random_() % 4; (wait || steps > 0) && !done(); --steps) {
    if (!step()) return;
  }
}

Result<bool> SimDriver::done(cuda::DriverEvent handle) {
  const Lock lock(mutex_);
  const auto found = events_.find(handle);
  if (found == events_.end()) return Error("cuEventQuery: invalid resource handle");
  Event& event = *found->second;
  if (auto ok = begin(Call::query, event.device); !ok) return ok.error();
  const auto done = [&] { return event.done >= event.recorded && (!event.time || *event.time <= now()); };
  progress(done);
  if (const auto& reason = refuses_[static_cast<size_t>(event.device)]) return Error("cuEventQuery: " + *reason);
  const bool answer = done();  // asked once: time goes on between two questions, and only a yes tells the host anything
  if (answer) host_.join(event.clock);
  return answer;
}

Result<bool> SimDriver::done(cuda::Stream handle) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  if (auto ok = begin(Call::query, at.device, &at); !ok) return ok.error();
  const auto done = [&] { return at.queue.empty() && at.time <= now(); };
  progress(done);
  if (const auto& reason = refuses_[static_cast<size_t>(at.device)]) return Error("cuStreamQuery: " + *reason);
  const bool answer = done();  // as above
  if (answer) host_.join(at.clock);
  return answer;
}

Result<double> SimDriver::elapsed(cuda::DriverEvent from, cuda::DriverEvent to) {
  const Lock lock(mutex_);
  const Event* ends[2] = {};
  for (const auto& [handle, end] : {std::pair(from, &ends[0]), std::pair(to, &ends[1])}) {
    const auto found = events_.find(handle);
    if (found == events_.end() || !found->second->timed || found->second->recorded == 0)
      return Error("cuEventElapsedTime: invalid resource handle");
    *end = found->second.get();
    if (auto ok = begin(Call::query, (*end)->device); !ok) return ok.error();
    if ((*end)->done < (*end)->recorded || !host_.covers_all((*end)->clock))
      return Error("cuEventElapsedTime: device not ready");
  }
  if (ends[0]->device != ends[1]->device) return Error("cuEventElapsedTime: invalid resource handle");
  return static_cast<double>(static_cast<float>(1e3 * (*ends[1]->time - *ends[0]->time))) * 1e-3;
}

Result<void> SimDriver::begin_capture(cuda::Stream handle) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  if (auto ok = begin(Call::begin_capture, at.device, &at); !ok) return ok;
  if (at.capturing) return Error("cuStreamBeginCapture: invalid argument");
  at.close();
  at.capturing = true;
  at.capture_broken = false;
  at.capturer = std::this_thread::get_id();
  at.captured.clear();
  return {};
}

Result<cuda::Graph> SimDriver::end_capture(cuda::Stream handle) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  const bool capturing = at.capturing;
  at.capturing = false;
  at.close();
  if (auto ok = begin(Call::end_capture, at.device, &at); !ok) return ok.error();
  if (!capturing) return Error("cuStreamEndCapture: invalid argument");
  if (at.capturer != std::this_thread::get_id()) {
    violate("a capture ends in another thread than it began in");
    return Error("cuStreamEndCapture: attempt to terminate a thread-local capture sequence from another thread");
  }
  if (at.capture_broken) return Error("cuStreamEndCapture: operation failed due to a previous error during capture");
  auto* graph = new Graph{at.device, std::move(at.captured)};
  at.captured.clear();
  graphs_.insert(graph);
  return reinterpret_cast<cuda::Graph>(graph);
}

Result<void> SimDriver::launch(cuda::Stream handle, cuda::Graph graph_handle) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  at.close();
  if (auto ok = begin(Call::launch_graph, at.device, &at); !ok) return ok;
  auto* graph = reinterpret_cast<Graph*>(graph_handle);
  if (graphs_.count(graph) == 0 || graph->device != at.device) return Error("cuGraphLaunch: invalid resource handle");
  if (at.destroyed) return Error("cuGraphLaunch: invalid resource handle");
  for (const Item& item : graph->items) order(at, item);
  return {};
}

void SimDriver::destroy(cuda::Graph handle) {
  const Lock lock(mutex_);
  auto* graph = reinterpret_cast<Graph*>(handle);
  if (graphs_.erase(graph) == 0) return violate("a graph is destroyed that isn't there (twice?)");
  delete graph;  // what is enqueued of it is still executed
}

Result<void> SimDriver::meet(cuda::Stream handle, std::string_view what, std::shared_ptr<Meeting> meeting, size_t member,
                             std::vector<cuda::Access> accesses) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  if (auto ok = begin(Call::collective, at.device, &at); !ok) return ok;
  Item item;
  item.kind = Item::meet;
  item.what = named(at, what);
  for (const cuda::Access& access : accesses) {
    if (memory_.reachable(access.data, access.bytes, at.device, at.device, *item.what)) item.accesses.push_back(access);
  }
  item.meeting = std::move(meeting);
  item.member = member;
  return push(at, std::move(item));
}

void SimDriver::call_off(std::span<const std::shared_ptr<Meeting>> meetings) {
  const Lock lock(mutex_);
  called_off_ = true;
  for (const auto& meeting : meetings) meeting->done = true;
}

Result<void> SimDriver::exchange(cuda::Stream handle, std::string_view what, std::function<Result<bool>()> go_on,
                                 std::vector<cuda::Access> accesses) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  at.close();  // it says itself what it accesses
  if (auto ok = begin(Call::collective, at.device, &at); !ok) return ok;
  Item item;
  item.kind = Item::exchange;
  item.what = named(at, what);
  for (const cuda::Access& access : accesses) {
    if (memory_.reachable(access.data, access.bytes, at.device, at.device, *item.what)) item.accesses.push_back(access);
  }
  item.go_on = std::move(go_on);
  return push(at, std::move(item));
}

void SimDriver::go_on_alone() {
  const Lock lock(mutex_);
  const int64_t questions = calls_[static_cast<size_t>(Call::query)];
  if (questions == questions_seen_) step();
  questions_seen_ = questions;
}

bool SimDriver::capturing(cuda::Stream handle) const {
  const Lock lock(mutex_);
  return stream(handle)->capturing;
}

std::byte* SimDriver::member_memory(const void* data, size_t bytes, bool writes, const std::string& what) {
  std::byte* place = memory_.bytes_of(data);
  if (writes) {
    memory_.set_written(data, bytes, true);
  } else if (!memory_.written(data, bytes)) {
    violate(what + " reads what nobody wrote");
  }
  return place;
}

}  // namespace sheaf::sim
