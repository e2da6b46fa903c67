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

/// The last steps of all recordings, oldest first, that fit the limit; at least one.
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
      for (const TracedLane& lane : recording->program().lanes)
        if (!lane.operations.empty()) other["devices"][lane.name] = lane.device;
      const auto kept =
          std::count_if(steps.begin(), steps.end(), [&](const KeptStep& s) { return s.recording == recording.get(); });
      const TracedProgram& program = recording->program();
      Json memory = Json::array();
      for (const TracedLane& lane : program.lanes)
        if (lane.arena_bytes > 0) memory.push_back({{"device", lane.name}, {"arena_bytes", lane.arena_bytes}});
      other["programs"].push_back({{"model", program.model},
                                   {"program", program.program},
                                   {"batch", program.batch},
                                   {"memory", std::move(memory)},
                                   {"steps", recording->steps()},
                                   {"kept_steps", kept}});
    }
    return events_.text(other);
  }

 private:
  /// The text that each step of a recording repeats.
  struct Described {
    std::vector<int> tids;                          ///< by lane
    std::vector<int> copies;                        ///< by lane: of what runs beside the other work; -1: nothing yet
    std::vector<int> host;                          ///< by lane: of its handing over, apart from its work; -1: there is none
    std::vector<std::vector<std::string>> slices;   ///< by lane and operation: name, category and arguments
    std::vector<std::vector<std::string>> waits;    ///< likewise; empty if it doesn't wait
    std::vector<std::string> counters;              ///< by lane
    std::vector<std::pair<size_t, size_t>> places;  ///< by instance: lane and operation
  };

  /// `what`: of the lane's tracks; empty: the one of its operations.
  int tid_of(const TracedProgram& program, size_t lane, const std::string& what) {
    int occurrence = 1;  // a device may be listed twice
    for (size_t l = 0; l < lane; ++l) occurrence += program.lanes[l].name == program.lanes[lane].name ? 1 : 0;
    const std::string name = program.lanes[lane].name + (occurrence > 1 ? " (" + std::to_string(occurrence) + ")" : "") +
                             (what.empty() ? "" : " (" + what + ")");
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
      const std::string handing_over = lane.asynchronous && !lane.times_work ? "handing over" : "";
      described->tids.push_back(lane.operations.empty() ? -1 : tid_of(program, l, handing_over));
      described->copies.push_back(-1);
      described->host.push_back(lane.operations.empty() || !lane.times_work ? -1 : tid_of(program, l, "handing over"));
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

  void add_step(Described& described, const KeptStep& kept) {
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
      const auto work = recording.work(kept.index, l);
      const int host = work.empty() ? described.tids[l] : described.host[l];
      size_t live = 0;
      for (size_t i = 0; i < lane.operations.size(); ++i) {
        const OperationTimes& at = times[i];
        if (!described.waits[l][i].empty()) events_.add_slice(host, ns(at.ready), ns(at.begin), described.waits[l][i] + number);
        events_.add_slice(host, ns(at.begin), ns(at.done), described.slices[l][i] + number);
        const int64_t begin = ns(recording.ran(kept.index, l, i).first);
        if (i < lane.live_bytes.size() && lane.live_bytes[i] != live) {
          live = lane.live_bytes[i];
          events_.add_counter(begin, described.counters[l], live);
        }
      }
      add_work(described, program, l, work, number);
      const OperationTimes& last = times.back();
      if (lane.asynchronous) {
        events_.add_slice(host, ns(last.begin), ns(last.done), "\"name\":\"synchronize\",\"cat\":\"wait\",\"args\":{" + number);
      }
      if (live != 0) events_.add_counter(ns(last.done), described.counters[l], 0);
    }
    add_calls(recording.calls(kept.index), number);
    for (const Communication& communication : program.communications) add_flow(described, kept, communication, number);
  }

  /// A device's work, and when it did it. Copies beside the other work have a track of their own.
  void add_work(Described& described, const TracedProgram& program, size_t l, std::span<const WorkTimes> work,
                const std::string& number) {
    int64_t done[2] = {INT64_MIN, INT64_MIN};
    const TracedLane& lane = program.lanes[l];
    for (size_t w = 0; w < work.size(); ++w) {
      const bool for_next = w >= lane.operations.size();
      const size_t i = for_next ? lane.ahead[w - lane.operations.size()] : w;
      if (for_next && !work[w].beside) continue;  // nothing was copied
      if (work[w].beside && described.copies[l] < 0) described.copies[l] = tid_of(program, l, "copies");
      const int track = work[w].beside ? described.copies[l] : described.tids[l];
      int64_t& before = done[work[w].beside];
      // A device's clock counts half microseconds: one piece seems to begin before the one in front of it is done.
      const int64_t begin = std::max(ns(work[w].begin), before), end = std::max(ns(work[w].done), begin);
      if (!for_next && !described.waits[l][i].empty() && before != INT64_MIN)
        events_.add_slice(track, before, begin, described.waits[l][i] + number);
      events_.add_slice(track, begin, end, described.slices[l][i] + number);
      before = end;
    }
  }

  /// Calls of drivers, with a track for each thread that made some.
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
      const auto [begin, done] = recording.ran(kept.index, lane, position);
      const auto work = recording.work(kept.index, lane);
      const bool beside = !work.empty() && work[position].beside;
      return End{beside ? described.copies[lane] : described.tids[lane], ns(begin), ns(done)};
    };
    const End from = end_of(communication.producer), to = end_of(communication.consumer);
    // An arrow starts within the slice that made the data, at its end, and ends within the slice that uses it. A step's slice
    // gives its inputs away as it begins and takes its outputs before it ends.
    // Clocks of two devices may disagree by microseconds: data don't leave after they have been used.
    const int64_t done = std::max(from.begin, std::min(from.done, to.done) - 1);
    const int64_t leaves = communication.producer < 0 ? from.begin : done;
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
