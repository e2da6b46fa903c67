#include "runtime/trace/chrome.h"

#include "runtime/base/version.h"
#include "runtime/plan/plan.h"
#include "runtime/trace/event_text.h"
#include "runtime/trace/trace_state.h"

#include <algorithm>
#include <map>
#include <set>

namespace sheaf {
namespace {

struct KeptStep {
  const Recording* recording;
  size_t index;
};

/// The last steps of all recordings, the oldest first, that the limit leaves; one at least.
std::vector<KeptStep> kept_steps(const Trace::State& state) {
  std::vector<KeptStep> steps;
  for (const auto& recording : state.recordings) {
    for (size_t i = 0; i < recording->kept(); ++i) steps.push_back({recording.get(), i});
  }
  std::sort(steps.begin(), steps.end(), [](const KeptStep& a, const KeptStep& b) {
    return a.recording->step(a.index).begin < b.recording->step(b.index).begin;
  });
  size_t operations = 0, first = steps.size();
  while (first > 0) {
    operations += std::max<size_t>(1, steps[first - 1].recording->program().operations());
    if (operations > state.most_operations && first < steps.size()) break;
    --first;
  }
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(first));
  return steps;
}

class Writer {
 public:
  explicit Writer(const Trace::State& state) : state_(state), scale_(state.scale.fix()) {}

  std::string write() {
    const std::vector<KeptStep> steps = kept_steps(state_);
    for (const auto& recording : state_.recordings) describe(*recording);
    for (const KeptStep& step : steps) add_step(*recordings_.at(step.recording), step);
    add_data_waits(steps);
    Json other = {{"producer", name_and_version()}, {"most_operations", state_.most_operations}, {"programs", Json::array()}};
    for (const auto& recording : state_.recordings) {
      const auto kept =
          std::count_if(steps.begin(), steps.end(), [&](const KeptStep& s) { return s.recording == recording.get(); });
      const TracedProgram& program = recording->program();
      other["programs"].push_back({{"model", program.model},
                                   {"program", program.program},
                                   {"batch", program.batch},
                                   {"steps", recording->steps()},
                                   {"kept_steps", kept}});
    }
    return events_.text(other);
  }

 private:
  /// What each step of a recording repeats, as text.
  struct Described {
    std::vector<int> tids;                          ///< by lane
    std::vector<std::vector<std::string>> slices;   ///< by lane and operation: name, category and arguments
    std::vector<std::vector<std::string>> waits;    ///< likewise; empty: it doesn't wait
    std::vector<std::string> counters;              ///< by lane
    std::vector<std::pair<size_t, size_t>> places;  ///< by instance: lane and operation
  };

  int tid_of(const TracedProgram& program, size_t lane) {
    int occurrence = 1;  // a device may be listed twice
    for (size_t l = 0; l < lane; ++l) occurrence += program.lanes[l].name == program.lanes[lane].name ? 1 : 0;
    const std::string name = program.lanes[lane].name + (occurrence > 1 ? " (" + std::to_string(occurrence) + ")" : "") +
                             (program.lanes[lane].asynchronous ? " (handing over)" : "");
    const auto [at, fresh] = tids_.emplace(name, static_cast<int>(tids_.size()) + 1);
    if (fresh) events_.add_track(at->second, name);
    lane_names_[at->second] = name;
    return at->second;
  }

  void describe(const Recording& recording) {
    const TracedProgram& program = recording.program();
    if (recordings_.empty()) {
      events_.add_process("sheaf: " + program.model);
      events_.add_track(0, "steps");
    }
    auto described = std::make_unique<Described>();
    for (size_t l = 0; l < program.lanes.size(); ++l) {
      const TracedLane& lane = program.lanes[l];
      auto& slices = described->slices.emplace_back();
      auto& waits = described->waits.emplace_back();
      described->tids.push_back(lane.operations.empty() ? -1 : tid_of(program, l));
      described->counters.push_back(lane.operations.empty() ? "" : json_string(lane_names_[described->tids.back()] + " arena"));
      for (size_t i = 0; i < lane.operations.size(); ++i) {
        const TracedOperation& operation = lane.operations[i];
        slices.push_back(slice_text(operation));
        std::string others;
        for (int other : lane.waits_for[i])
          others += (others.empty() ? "" : ", ") + program.lanes[static_cast<size_t>(other)].name;
        waits.push_back(others.empty() ? ""
                                       : "\"name\":" + json_string("wait for " + others) +
                                             ",\"cat\":\"wait\",\"args\":{\"for\":" + json_string(others) + ",");
        const auto instance = static_cast<size_t>(operation.instance);
        if (described->places.size() <= instance) described->places.resize(instance + 1, {SIZE_MAX, 0});
        described->places[instance] = {l, i};
      }
    }
    recordings_.emplace(&recording, std::move(described));
  }

  void add_step(const Described& described, const KeptStep& kept) {
    const Recording& recording = *kept.recording;
    const TracedProgram& program = recording.program();
    const StepTimes& step = recording.step(kept.index);
    const std::string number = "\"step\":" + std::to_string(step.number) + "}";
    const int64_t begin = ns(step.begin), end = ns(step.end);
    const bool whole = program.program == "infer" || program.program == "train";  // others are parts of a training step
    const std::string name = (whole ? "step " : program.program + " ") + std::to_string(step.number);
    events_.add_slice(0, begin, end,
                      "\"name\":" + json_string(name) + ",\"cat\":\"step\",\"args\":{\"program\":" +
                          json_string(program.program) + ",\"rows\":" + std::to_string(program.batch) + "," + number);
    for (size_t l = 0; l < program.lanes.size(); ++l) {
      const TracedLane& lane = program.lanes[l];
      if (lane.operations.empty()) continue;
      const auto times = recording.times(kept.index, l);
      size_t live = 0;
      for (size_t i = 0; i < lane.operations.size(); ++i) {
        const OperationTimes& at = times[i];
        if (!described.waits[l][i].empty())
          events_.add_slice(described.tids[l], ns(at.ready), ns(at.begin), described.waits[l][i] + number);
        events_.add_slice(described.tids[l], ns(at.begin), ns(at.done), described.slices[l][i] + number);
        if (i < lane.live_bytes.size() && lane.live_bytes[i] != live) {
          live = lane.live_bytes[i];
          events_.add_counter(ns(at.begin), described.counters[l], live);
        }
      }
      const OperationTimes& last = times.back();
      if (lane.asynchronous) {
        events_.add_slice(described.tids[l], ns(last.begin), ns(last.done),
                          "\"name\":\"synchronize\",\"cat\":\"wait\",\"args\":{" + number);
      }
      if (live != 0) events_.add_counter(ns(last.done), described.counters[l], 0);
    }
    add_calls(recording.calls(kept.index), number);
    for (const Communication& communication : program.communications) add_flow(described, kept, communication, number);
  }

  /// What was asked of drivers, a track for each thread that did.
  void add_calls(std::span<const CallLog::Call> calls, const std::string& number) {
    constexpr int kCallTrack = 500'000;
    for (const CallLog::Call& call : calls) {
      const int track = kCallTrack + static_cast<int>(call.thread);
      if (call_tracks_.insert(track).second) {
        events_.add_track(track,
                          "driver calls" + (call_tracks_.size() > 1 ? " (" + std::to_string(call_tracks_.size()) + ")" : ""));
      }
      const std::string device = call.device >= 0 ? "\"device\":\"cuda:" + std::to_string(call.device) + "\"," : "";
      events_.add_slice(track, ns(call.begin), ns(call.end),
                        "\"name\":" + json_string(call.name) + ",\"cat\":\"driver\",\"args\":{" + device + number);
    }
  }

  void add_flow(const Described& described, const KeptStep& kept, const Communication& communication,
                const std::string& number) {
    const Recording& recording = *kept.recording;
    struct End {
      int tid;
      int64_t begin, done;
    };
    const auto end_of = [&](int instance) {
      const StepTimes& step = recording.step(kept.index);
      if (instance < 0) return End{0, ns(step.begin), ns(step.end)};
      const auto [lane, position] = described.places[static_cast<size_t>(instance)];
      const OperationTimes& at = recording.times(kept.index, lane)[position];
      return End{described.tids[lane], ns(at.begin), ns(at.done)};
    };
    const End from = end_of(communication.producer), to = end_of(communication.consumer);
    // An arrow starts within the slice that made the data, at its end, and ends within the one that uses it. A step's
    // slice gives its inputs away as it begins and takes its outputs before it ends.
    const int64_t leaves = communication.producer < 0 ? from.begin : std::max(from.begin, from.done - 1);
    const int64_t arrives = std::max(leaves, communication.consumer < 0 ? std::max(to.begin, to.done - 1) : to.begin);
    events_.add_flow({from.tid, leaves}, {to.tid, arrives},
                     "\"name\":" + json_string(to_string(communication.op)) +
                         ",\"cat\":\"communication\",\"args\":{\"layer\":" + json_string(communication.layer) +
                         ",\"bytes\":" + std::to_string(communication.bytes) + "," + number);
  }

  void add_data_waits(const std::vector<KeptStep>& steps) {
    if (state_.data_wait_count == 0) return;
    constexpr int kDataTrack = 1'000'000;
    events_.add_track(kDataTrack, "data");
    int64_t first = INT64_MAX;
    for (const KeptStep& step : steps) {
      const std::string& program = step.recording->program().program;
      if (program == "train" || program == "update") first = std::min(first, step.recording->step(step.index).number);
    }
    const int64_t count = std::min<int64_t>(state_.data_wait_count, Trace::State::kMostDataWaits);
    for (int64_t i = 0; i < count; ++i) {
      const StepTimes& wait = state_.data_waits[static_cast<size_t>(i)];
      if (wait.number < first) continue;
      events_.add_slice(kDataTrack, ns(wait.begin), ns(wait.end),
                        "\"name\":\"wait for data\",\"cat\":\"wait\",\"args\":{\"step\":" + std::to_string(wait.number) + "}");
    }
  }

  int64_t ns(int64_t at) const { return scale_.nanoseconds(at); }

  const Trace::State& state_;
  TickScale::Fixed scale_;
  EventText events_;
  std::map<std::string, int> tids_;
  std::map<int, std::string> lane_names_;
  std::set<int> call_tracks_;
  std::map<const Recording*, std::unique_ptr<Described>> recordings_;
};

}  // namespace

std::string chrome_trace(const Trace::State& state) { return Writer(state).write(); }

}  // namespace sheaf
