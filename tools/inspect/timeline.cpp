#include "tools/inspect/timeline.h"

#include "runtime/base/file.h"
#include "tools/inspect/format.h"
#include "tools/inspect/trace_events.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace sheaf {

namespace {

using Events = nlohmann::json;

constexpr uint64_t kLargestTrace = uint64_t{256} << 20;
constexpr size_t kLongestText = 200;   ///< of an argument: the page shows it on one line
constexpr double kLongestTime = 1e15;  ///< microseconds: 31 years, exact to 1/8 in a double

std::string shortened(std::string text) {
  text = printable(text);
  if (text.size() <= kLongestText) return text;
  size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + "…";
}

const Events* member(const Events& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const Events& object, const char* key) {
  const Events* value = member(object, key);
  return value && value->is_string() ? shortened(value->get<std::string>()) : std::string();
}

/// A number from 0 to less than `limit`, or -1.
int64_t count_of(const Events& object, const char* key, int64_t limit) {
  const Events* value = member(object, key);
  if (!value || !value->is_number_integer() || value->get<int64_t>() < 0) return -1;
  return value->get<int64_t>() < limit ? value->get<int64_t>() : -1;
}

class TimelineReader {
 public:
  explicit TimelineReader(size_t most_slices) : most_slices_(most_slices) {}

  /// Null, or what is wrong with the event.
  std::optional<std::string> add(const Events& event) {
    if (!event.is_object()) return "an event is an object, this is " + std::string(event.type_name());
    const std::string phase = text_of(event, "ph");
    if (phase.empty()) return std::string("an event has its phase in 'ph', a text such as \"X\"");
    if (phase == "M") return note_name(event);
    return phase == "X" ? add_slice(event) : std::nullopt;
  }

  Timeline finish() {
    std::vector<size_t> order(tracks_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return tracks_[a].sort != tracks_[b].sort ? tracks_[a].sort < tracks_[b].sort : a < b;
    });
    std::vector<size_t> place(order.size(), order.size());
    for (const size_t track : order) {
      if (!tracks_[track].used) continue;  // named, but nothing ran there
      place[track] = timeline_.tracks.size();
      const auto process = processes_.find(tracks_[track].process);
      std::string name = tracks_[track].name;
      if (name.empty()) name = "track " + std::to_string(place[track] + 1);
      timeline_.tracks.push_back({process == processes_.end() ? "" : process->second, std::move(name)});
    }
    leave_out_latest();
    std::vector<TimelineSlice>& slices = timeline_.slices;
    double start = slices.front().begin_us;
    for (TimelineSlice& slice : slices) {
      slice.track = place[slice.track];
      start = std::min(start, slice.begin_us);
    }
    std::sort(slices.begin(), slices.end(), [](const TimelineSlice& a, const TimelineSlice& b) {
      // An event of no measurable duration is over when another begins; a longer one may contain others.
      return std::make_tuple(a.track, a.begin_us, a.duration_us > 0, -a.duration_us, std::cref(a.name)) <
             std::make_tuple(b.track, b.begin_us, b.duration_us > 0, -b.duration_us, std::cref(b.name));
    });
    for (TimelineSlice& slice : slices) slice.begin_us -= start;
    return std::move(timeline_);
  }

  bool empty() const { return timeline_.slices.empty(); }

 private:
  struct Track {
    std::string process, name;
    double sort = 0;
    bool used = false;
  };

  void leave_out_latest() {
    std::vector<TimelineSlice>& slices = timeline_.slices;
    if (slices.size() <= most_slices_) return;
    std::nth_element(slices.begin(), slices.begin() + static_cast<std::ptrdiff_t>(most_slices_), slices.end(),
                     [](const TimelineSlice& a, const TimelineSlice& b) { return a.begin_us < b.begin_us; });
    timeline_.left_out += slices.size() - most_slices_;
    slices.erase(slices.begin() + static_cast<std::ptrdiff_t>(most_slices_), slices.end());
  }

  static std::string id(const Events& event, const char* key) {
    const Events* value = member(event, key);
    return value && value->is_primitive() ? value->dump(-1, ' ', false, Events::error_handler_t::replace) : "";
  }

  Track& track_of(const Events& event) {
    const auto [found, fresh] = by_id_.try_emplace({id(event, "pid"), id(event, "tid")}, tracks_.size());
    if (fresh) tracks_.push_back({found->first.first, "", 0, false});
    return tracks_[found->second];
  }

  std::optional<std::string> note_name(const Events& event) {
    const std::string what = text_of(event, "name");
    const Events* args = member(event, "args");
    if (!args) return std::nullopt;
    if (what == "process_name") processes_[id(event, "pid")] = text_of(*args, "name");
    if (what == "thread_name") track_of(event).name = text_of(*args, "name");
    const Events* sort = what == "thread_sort_index" ? member(*args, "sort_index") : nullptr;
    if (sort && sort->is_number()) track_of(event).sort = sort->get<double>();
    return std::nullopt;
  }

  std::optional<std::string> add_slice(const Events& event) {
    TimelineSlice slice;
    slice.name = text_of(event, "name");
    if (slice.name.empty()) return std::string("a slice needs a 'name'");
    for (const auto& [key, time] : {std::pair{"ts", &slice.begin_us}, {"dur", &slice.duration_us}}) {
      const Events* value = member(event, key);
      if (!value || !value->is_number()) return "slice '" + slice.name + "' needs a number of microseconds in '" + key + "'";
      *time = value->get<double>();
      if (!(std::abs(*time) <= kLongestTime)) return "slice '" + slice.name + "': '" + key + "' is beyond 1e15 microseconds";
    }
    if (slice.duration_us < 0) return "slice '" + slice.name + "' ends before it begins: 'dur' is negative";
    slice.op = text_of(event, "cat");
    if (const Events* args = member(event, "args"); args && args->is_object()) take_arguments(*args, slice);
    Track& track = track_of(event);
    track.used = true;
    slice.track = static_cast<size_t>(&track - tracks_.data());
    timeline_.slices.push_back(std::move(slice));
    if (timeline_.slices.size() == 2 * most_slices_) leave_out_latest();
    return std::nullopt;
  }

  static void take_arguments(const Events& args, TimelineSlice& slice) {
    slice.layer = text_of(args, "layer");
    if (const std::string op = text_of(args, "op"); !op.empty()) slice.op = op;
    slice.replica = static_cast<int>(count_of(args, "replica", 1'000'000));
    slice.step = count_of(args, "step", int64_t{1} << 53);
    for (const auto& [key, value] : args.items()) {
      if (key == "layer" || key == "op" || key == "replica" || key == "step") continue;
      if (value.is_string()) slice.args[shortened(key)] = shortened(value.get<std::string>());
      else if (value.is_number() || value.is_boolean()) slice.args[shortened(key)] = value;
      else if (!value.is_null())
        slice.args[shortened(key)] = shortened(value.dump(-1, ' ', false, Events::error_handler_t::replace));
    }
  }

  size_t most_slices_;
  Timeline timeline_;
  std::vector<Track> tracks_;
  std::map<std::pair<std::string, std::string>, size_t> by_id_;  ///< process and thread → track
  std::map<std::string, std::string> processes_;
};

}  // namespace

Result<Timeline> parse_timeline(const std::string& file, std::string_view text, size_t most_slices) {
  TimelineReader reader(most_slices);
  SHEAF_ASSIGN(const auto events, for_each_event(file, text, [&](const Events& event) { return reader.add(event); }));
  if (reader.empty())
    return Error({file, 1, 1}, "the trace has no slice: none of its " + std::to_string(events) + " events is of phase \"X\"");
  Timeline timeline = reader.finish();
  timeline.file = file;
  return timeline;
}

Result<Timeline> load_timeline(const std::string& file) {
  SHEAF_ASSIGN(const auto text, read_file(file, kLargestTrace));
  return parse_timeline(file, text);
}

}  // namespace sheaf
