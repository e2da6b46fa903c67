// The timeline of a run, read from a trace in Chrome's format (`run --trace`, `train --trace`) for the HTML dump.
#pragma once

#include "runtime/plan/plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// A sequence of slices: a lane, or a stream of one.
struct TimelineTrack {
  std::string process;  ///< empty if the trace names none
  std::string name;     ///< "cpu:0"; "track 3" where the trace names none
};

struct TimelineSlice {
  size_t track = 0;
  std::string name;
  double begin_us = 0;  ///< after the first slice's beginning
  double duration_us = 0;
  std::string layer;           ///< args.layer, or empty
  std::string op;              ///< args.op, or the event's category
  int replica = -1;            ///< args.replica, or -1
  int64_t step = -1;           ///< args.step, or -1
  Json args = Json::object();  ///< the event's further arguments, for people: text, numbers and the like
};

struct Timeline {
  std::string file;
  std::vector<TimelineTrack> tracks;  ///< by the trace's sort index, or else in order of appearance
  std::vector<TimelineSlice>
      slices;           ///< by track and beginning; among equal beginnings, first those that took no time, then the longer ones
  size_t left_out = 0;  ///< slices beyond the limit, the latest
};

/// A page with more would be slow to open.
inline constexpr size_t kMostSlices = 200'000;

/// Reads the complete events (ph "X") of a trace, {"traceEvents": […]} or the bare array, and its names of processes and
/// threads; events of other kinds (counters, flows) are skipped. `file` is for messages. Errors, located in the text: not JSON;
/// neither of the two forms; an event that isn't an object; a slice without a name, `ts` or `dur`, or with impossible ones; no
/// slice at all.
Result<Timeline> parse_timeline(const std::string& file, std::string_view text, size_t most_slices = kMostSlices);

/// Reads a file and parses it. Errors: also a file that can't be read.
Result<Timeline> load_timeline(const std::string& file);

}  // namespace sheaf
