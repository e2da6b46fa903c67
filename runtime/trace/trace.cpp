#include "sheaf/trace.h"

#include "runtime/base/file.h"
#include "runtime/trace/chrome.h"
#include "runtime/trace/sums.h"
#include "runtime/trace/trace_state.h"

#include <algorithm>

namespace sheaf {

Trace::Trace(size_t most_operations) : state_(std::make_unique<State>()) { state_->most_operations = most_operations; }
Trace::~Trace() = default;

int64_t Trace::steps() const {
  int64_t steps = 0;
  for (const auto& recording : state_->recordings) steps += recording->steps();
  return steps;
}

const void* Trace::identity() const { return state_->identity.get(); }
const DeviceDescriptions& Trace::devices() const { return state_->devices; }

Result<void> Trace::describe_devices(const std::string& file) {
  SHEAF_ASSIGN(auto devices, read_devices(file));
  state_->devices = std::move(devices);
  return {};
}

std::shared_ptr<Recording> Trace::add(TracedProgram program) {
  std::shared_ptr<int64_t>& counter = state_->counters[program.program];
  if (!counter) counter = std::make_shared<int64_t>(0);
  state_->recordings.push_back(
      std::make_shared<Recording>(std::move(program), state_->most_operations, state_->identity, counter));
  return state_->recordings.back();
}

int64_t Trace::now() { return ticks(); }

void Trace::add_data_wait(int64_t begin) {
  auto& waits = state_->data_waits;
  if (waits.empty()) waits.resize(State::kMostDataWaits);
  auto counter = state_->counters.find("train");
  if (counter == state_->counters.end()) counter = state_->counters.find("update");  // of a step in micro-batches
  const int64_t step = counter == state_->counters.end() ? 1 : *counter->second + 1;
  waits[static_cast<size_t>(state_->data_wait_count++) % State::kMostDataWaits] = {begin, ticks(), step};
}

std::string Trace::json() const { return chrome_trace(*state_); }

Result<void> Trace::write(const std::string& file) const { return write_file_atomically(file, json()); }

std::vector<Profile> Trace::profiles() const {
  const TickScale::Fixed scale = state_->scale.fix();
  std::vector<Profile> profiles;
  for (const auto& recording : state_->recordings) {
    if (recording->kept() == 0) continue;
    profiles.push_back(profile_of(*recording, scale));
    if (recording->program().program != "train" && recording->program().program != "update") continue;
    double waited = 0;
    const int64_t count = std::min<int64_t>(state_->data_wait_count, State::kMostDataWaits);
    for (int64_t i = 0; i < count; ++i) {
      const StepTimes& wait = state_->data_waits[static_cast<size_t>(i)];
      waited += scale.seconds(wait.end - wait.begin);
    }
    if (count > 0) profiles.back().data_wait_seconds = waited / static_cast<double>(count);
  }
  return profiles;
}

}  // namespace sheaf
