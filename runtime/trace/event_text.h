// The events of a trace file as text, sorted by time once all are there (internal to runtime/trace).
#pragma once

#include "runtime/plan/plan.h"
#include "runtime/trace/recording.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// As a JSON string, quotes included. Bytes that aren't UTF-8 are replaced.
std::string json_string(std::string_view text);

/// An operation's name, category and arguments; the last argument and the closing brace are still to come.
std::string slice_text(const TracedOperation& operation);

/// Times are nanoseconds from the trace's beginning; the file has microseconds with three decimals.
class EventText {
 public:
  struct Point {
    int tid;
    int64_t at;
  };
  void add_process(const std::string& name);
  /// Tracks are shown in the order of their numbers.
  void add_track(int tid, const std::string& name);
  /// `rest`: the event's further members, as text.
  void add_slice(int tid, int64_t begin, int64_t end, const std::string& rest);
  void add_flow(Point from, Point to, const std::string& rest);
  /// `name`: quoted.
  void add_counter(int64_t at, const std::string& name, size_t bytes);

  /// The whole file.
  std::string text(const Json& other_data) const;

 private:
  struct Event {
    int64_t at;
    size_t offset, length;
  };
  void begin(int64_t at) { events_.push_back({at, body_.size(), 0}); }
  void end() { events_.back().length = body_.size() - events_.back().offset; }

  std::string head_;  ///< names of tracks
  std::string body_;
  std::vector<Event> events_;
  int64_t flows_ = 0;
};

}  // namespace sheaf
