// Enqueues work, and checks it against everything already enqueued.
#include "tests/sim/loaded_function.h"

#include <cstring>

namespace sheaf::sim {

Name SimDriver::named(const Stream& stream, std::string_view what) const {
  return std::make_shared<const std::string>(std::string(what) + " in stream " + std::to_string(stream.id) +
                                             " of cuda:" + std::to_string(stream.device));
}

Result<void> SimDriver::push(Stream& stream, Item item) {
  if (stream.destroyed) {
    violate(*item.what + " comes after the stream's destruction");
    return Error("invalid resource handle");
  }
  if (stream.capturing) {
    if (stream.capturer != std::this_thread::get_id())
      violate(*item.what + " is put into a stream that another thread captures");
    stream.captured.push_back(std::move(item));
    return {};
  }
  order(stream, std::move(item));
  if (random_() % 8 == 0) step();  // a GPU may be quick
  return {};
}

void SimDriver::order(Stream& stream, Item item) {
  stream.clock.join(host_);
  item.asked = now();
  if (item.kind == Item::wait) stream.clock.join(item.event->clock);
  const Epoch epoch = stream.clock.advance(stream.id);
  for (const cuda::Access& access : item.accesses) {
    if (item.kind == Item::operation &&
        !memory_.reachable(access.data, access.bytes, stream.device, VirtualMemory::kAnywhere, *item.what))
      continue;
    if (!hung_ && !called_off_) memory_.touch(access, epoch, stream.clock, item.what);
  }
  if (item.kind == Item::record) {
    item.event->clock = stream.clock;
    item.event->what = item.what;
    item.number = ++item.event->recorded;
    item.time = item.event->time = std::make_shared<double>(0);
  }
  if (item.kind == Item::wait) {
    item.number = item.event->recorded;
    item.time = item.event->time;
  }
  if (item.kind == Item::work && item.accesses.empty()) inject(item);
  stream.queue.push_back(std::move(item));
}

void SimDriver::inject(Item& item) {
  item.never_ends = hang_in_ > 0 && --hang_in_ == 0;
  item.faults = fault_in_ > 0 && --fault_in_ == 0;
  hung_ |= item.never_ends;
}

void SimDriver::watch(cuda::Stream handle, std::span<const cuda::Access> accesses, std::string_view what) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  Item item;
  item.kind = Item::operation;
  item.what = named(at, what);
  item.name = what;
  for (const cuda::Access& access : accesses) {
    if (access.bytes == 0) continue;
    if (reinterpret_cast<uintptr_t>(access.data) % access.alignment != 0)
      violate(*item.what + " touches memory that isn't aligned to " + std::to_string(access.alignment) + " bytes");
    item.accesses.push_back(access);
  }
  // Counts from its first kernel, host function or fill on: copies state themselves what they access.
  at.announced_accesses = item.accesses;
  at.announcement = std::move(item);
}

Result<void> SimDriver::push_part(Stream& stream, Item item) {
  if (stream.announcement) {
    stream.announced = true;
    Item announced = std::move(*stream.announcement);
    stream.announcement.reset();
    if (auto ok = push(stream, std::move(announced)); !ok) return ok;
  }
  if (!stream.announced) violate(*item.what + " was not announced by watch()");
  return push(stream, std::move(item));
}

Result<void> SimDriver::enqueue(cuda::Stream handle, std::string_view what, std::function<Result<void>(OperationMemory&)> run) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  if (auto ok = begin(Call::host_function, at.device, &at); !ok) return ok;
  Item item;
  item.what = named(at, what);
  item.run = std::move(run);
  return push_part(at, std::move(item));
}

Result<void> SimDriver::launch(cuda::Stream handle, const cuda::Launch& launch) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  if (auto ok = begin(Call::launch, at.device, &at); !ok) return ok;
  const auto* function = reinterpret_cast<const LoadedFunction*>(launch.function);
  if (function->device != at.device) return Error("cuLaunchKernel: invalid resource handle");
  size_t blocks = 1;
  for (const unsigned n : launch.grid) blocks *= n;
  if (blocks == 0 || launch.grid[1] > 65535 || launch.grid[2] > 65535 || launch.block == 0 || launch.block > 1024) {
    return Error("cuLaunchKernel: invalid argument");
  }
  if (launch.shared_bytes > static_cast<unsigned>(properties(at.device).shared_bytes_per_block)) {
    return Error("cuLaunchKernel: invalid argument");
  }
  std::vector<std::string> values;  // of the parameters, as they are now
  for (size_t i = 0; i < function->parameters.size(); ++i) {
    values.emplace_back(static_cast<const char*>(launch.arguments[i]), function->parameters[i]);
  }
  Item item;
  item.what = named(at, function->name);
  item.run = [code = function->code, name = function->name, launch, values](OperationMemory& memory) {
    std::vector<void*> arguments;
    for (const std::string& value : values) arguments.push_back(const_cast<char*>(value.data()));
    cuda::Launch again = launch;
    again.arguments = arguments.data();
    return code->launch(name, again, memory);
  };
  return push_part(at, std::move(item));
}

std::vector<cuda::Access> SimDriver::rows(const void* data, size_t row_bytes, size_t count, size_t pitch, bool writes) const {
  std::vector<cuda::Access> all;
  if (count == 1 || pitch == row_bytes) {
    if (row_bytes * count != 0) all.push_back({data, row_bytes * count, writes});
    return all;
  }
  for (size_t row = 0; row < count && row_bytes != 0; ++row)
    all.push_back({static_cast<const char*>(data) + row * pitch, row_bytes, writes});
  return all;
}

Result<void> SimDriver::copy(cuda::Stream handle, void* target, int target_device, const void* source, int source_device,
                             const CopyShape& shape) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  if (auto ok = begin(Call::copy, at.device, &at); !ok) return ok;
  Item item;
  item.name = "copy of " + std::to_string(shape.row_bytes * shape.rows) + " bytes";
  item.what = named(at, item.name);
  const size_t rows_apart = shape.rows == 1 ? 0 : shape.rows - 1;
  if (shape.row_bytes == 0 || shape.rows == 0) return {};
  const bool reads =
      memory_.reachable(source, rows_apart * shape.source_pitch + shape.row_bytes, at.device, source_device, *item.what);
  const bool writes =
      memory_.reachable(target, rows_apart * shape.target_pitch + shape.row_bytes, at.device, target_device, *item.what);
  if (!reads || !writes) return Error("cuMemcpyAsync: invalid argument");
  const auto sources = rows(source, shape.row_bytes, shape.rows, shape.source_pitch, false);
  const auto targets = rows(target, shape.row_bytes, shape.rows, shape.target_pitch, true);
  item.accesses = sources;
  item.accesses.insert(item.accesses.end(), targets.begin(), targets.end());
  // Its host side, which nobody sees: it must leave alone what isn't read yet, and finds nothing before it asked.
  std::vector<std::string> before;
  if (source_device == kHost && !at.capturing) {
    for (const auto& row : sources) {
      if (!memory_.quiet(row.data, row.bytes, host_, false)) break;
      before.emplace_back(static_cast<const char*>(row.data), row.bytes);
    }
  }
  if (target_device == kHost && !at.capturing) {
    for (const auto& row : targets) {
      if (memory_.quiet(row.data, row.bytes, host_, true)) std::memset(const_cast<void*>(row.data), 0xa5, row.bytes);
    }
  }
  item.run = [this, sources, targets, before, shape, target, source, to_host = target_device == kHost,
              what = item.what](OperationMemory&) {
    for (size_t i = 0; i < before.size(); ++i) {
      if (std::memcmp(before[i].data(), sources[i].data, before[i].size()) == 0) continue;
      violate("the host changed pinned memory before it was read by " + *what);
      break;
    }
    for (size_t row = 0; row < shape.rows; ++row) {
      const auto* from = static_cast<const char*>(source) + row * shape.source_pitch;
      auto* to = static_cast<char*>(target) + row * shape.target_pitch;
      const std::byte* bytes = memory_.bytes_of(from);
      std::byte* place = memory_.bytes_of(to);
      if (!bytes || !place) return Result<void>(Error("an illegal memory access was encountered"));
      std::memmove(place, bytes, shape.row_bytes);
      const bool written = memory_.written(from, shape.row_bytes);
      if (to_host && !written) violate(*what + " gives the host what nobody wrote");
      if (written || to_host) {
        memory_.set_written(to, shape.row_bytes, true);
      } else {
        for (size_t i = 0; i < shape.row_bytes; ++i) memory_.set_written(to + i, 1, memory_.written(from + i, 1));
      }
    }
    return Result<void>();
  };
  return push(at, std::move(item));
}

Result<void> SimDriver::raise(cuda::Stream handle, int32_t* word) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  if (auto ok = begin(Call::fill, at.device, &at); !ok) return ok;
  Item item;  // not compared with accesses of other streams: by its contract it is unordered with them
  item.what = named(at, "raising of a flag");
  if (!memory_.reachable(word, sizeof *word, at.device, at.device, *item.what)) return Error("cuMemsetAsync: invalid argument");
  item.run = [this, word](OperationMemory&) {
    std::byte* place = memory_.bytes_of(word);
    if (!place) return Result<void>(Error("an illegal memory access was encountered"));
    std::memset(place, 1, sizeof *word);
    memory_.set_written(word, sizeof *word, true);
    return Result<void>();
  };
  return push(at, std::move(item));
}

Result<void> SimDriver::fill(cuda::Stream handle, void* memory, uint8_t value, size_t bytes) {
  const Lock lock(mutex_);
  Stream& at = *stream(handle);
  if (auto ok = begin(Call::fill, at.device, &at); !ok) return ok;
  if (bytes == 0) return {};
  Item item;
  item.what = named(at, "fill of " + std::to_string(bytes) + " bytes");
  if (!memory_.reachable(memory, bytes, at.device, at.device, *item.what)) return Error("cuMemsetAsync: invalid argument");
  if (at.announces(memory, bytes)) {
    item.run = [memory, value, bytes](OperationMemory& operation) {
      auto* place = operation.at<char>(memory, bytes, true);
      if (!place) return Result<void>(Error("an illegal memory access was encountered"));
      std::memset(place, value, bytes);
      return Result<void>();
    };
    return push_part(at, std::move(item));
  }
  item.accesses = {{memory, bytes, true}};
  item.run = [this, memory, value, bytes](OperationMemory&) {
    std::byte* place = memory_.bytes_of(memory);
    if (!place) return Result<void>(Error("an illegal memory access was encountered"));
    std::memset(place, value, bytes);
    memory_.set_written(memory, bytes, true);
    return Result<void>();
  };
  return push(at, std::move(item));
}

Result<void> SimDriver::record(cuda::DriverEvent handle, cuda::Stream stream_handle) {
  const Lock lock(mutex_);
  Stream& at = *stream(stream_handle);
  if (auto ok = begin(Call::record, at.device, &at); !ok) return ok;
  const auto event = events_.find(handle);
  if (event == events_.end() || event->second->device != at.device) return Error("cuEventRecord: invalid resource handle");
  Item item;
  item.kind = Item::record;
  item.what = named(at, "event");
  item.event = event->second;
  return push(at, std::move(item));
}

Result<void> SimDriver::wait(cuda::Stream stream_handle, cuda::DriverEvent handle) {
  const Lock lock(mutex_);
  Stream& at = *stream(stream_handle);
  at.close();
  if (auto ok = begin(Call::wait, at.device, &at); !ok) return ok;
  const auto event = events_.find(handle);
  if (event == events_.end()) return Error("cuStreamWaitEvent: invalid resource handle");
  Item item;
  item.kind = Item::wait;
  item.what = named(at, "wait for an event");
  item.event = event->second;
  return push(at, std::move(item));
}

}  // namespace sheaf::sim
