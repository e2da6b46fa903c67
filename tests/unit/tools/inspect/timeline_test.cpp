// Reading traces: what is accepted, what is skipped, and what is refused, with its place.
#include "tools/inspect/timeline.h"

#include <gmock/gmock.h>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

Timeline parsed(std::string_view text) {
  Result<Timeline> timeline = parse_timeline("trace.json", text);
  EXPECT_TRUE(timeline) << to_string(timeline.error());
  return timeline ? *timeline : Timeline{};
}

/// The first diagnostic's place and message of a trace that must be refused.
std::string refusal(std::string_view text) {
  Result<Timeline> timeline = parse_timeline("trace.json", text);
  EXPECT_FALSE(timeline) << text;
  return timeline ? "" : to_string(timeline.error());
}

TEST(Timeline, reads_slices_with_their_arguments) {
  const Timeline timeline = parsed(R"({"displayTimeUnit": "ns", "traceEvents": [
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 7, "args": {"name": "cpu:1"}},
    {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 7, "args": {"sort_index": 1}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 8, "args": {"name": "host"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 9, "args": {"name": "idle"}},
    {"ph": "X", "name": "fc", "cat": "kernel", "ts": 110.5, "dur": 4, "pid": 1, "tid": 7,
     "args": {"layer": "net.fc", "op": "linear", "replica": 1, "step": 5, "flops": 320, "kernel": "k", "list": [1, 2]}},
    {"ph": "C", "name": "memory", "ts": 100, "pid": 1, "args": {"bytes": 3}},
    {"ph": "X", "name": "step", "cat": "step", "ts": 100, "dur": 20, "pid": 1, "tid": 7},
    {"ph": "X", "name": "scatter", "ts": 101, "dur": 0, "pid": 1, "tid": 8}]})");
  ASSERT_EQ(timeline.tracks.size(), 2u);  // nothing ran on "idle"
  EXPECT_EQ(timeline.tracks[0].name, "host");
  EXPECT_EQ(timeline.tracks[1].name, "cpu:1");
  ASSERT_EQ(timeline.slices.size(), 3u);
  const TimelineSlice& fc = timeline.slices[2];
  EXPECT_EQ(timeline.slices[1].name, "step");
  EXPECT_EQ(timeline.slices[1].begin_us, 0);
  EXPECT_EQ(timeline.slices[1].op, "step");
  EXPECT_EQ(fc.begin_us, 10.5);
  EXPECT_EQ(fc.duration_us, 4);
  EXPECT_EQ(fc.layer, "net.fc");
  EXPECT_EQ(fc.op, "linear");
  EXPECT_EQ(fc.replica, 1);
  EXPECT_EQ(fc.step, 5);
  EXPECT_EQ(fc.args.dump(), R"({"flops":320,"kernel":"k","list":"[1,2]"})");
}

TEST(Timeline, puts_what_took_no_time_before_what_begins_then) {
  const Timeline timeline = parsed(R"([{"ph":"X","name":"b","ts":1,"dur":1}, {"ph":"X","name":"none","ts":1,"dur":0},
                                       {"ph":"X","name":"whole","ts":1,"dur":5}, {"ph":"X","name":"first","ts":0,"dur":1}])");
  std::vector<std::string> names;
  for (const TimelineSlice& slice : timeline.slices) names.push_back(slice.name);
  EXPECT_THAT(names, ::testing::ElementsAre("first", "none", "whole", "b"));
}

TEST(Timeline, takes_the_bare_array_and_strange_names) {
  const Timeline timeline = parsed("[{\"ph\":\"X\",\"name\":\"a\\u001b[31m\",\"ts\":1,\"dur\":1,\"tid\":\"worker\"}]");
  ASSERT_EQ(timeline.slices.size(), 1u);
  EXPECT_EQ(timeline.slices[0].name, "a\\x1b[31m");
  EXPECT_EQ(timeline.tracks[0].name, "track 1");
}

TEST(Timeline, keeps_the_first_slices_of_a_long_run) {
  std::string text = "[";
  for (int i = 1000; i-- > 0;)  // the latest first
    text += "{\"ph\":\"X\",\"name\":\"s\",\"dur\":1,\"ts\":" + std::to_string(2 * i) + (i ? "}," : "}]");
  const Result<Timeline> timeline = parse_timeline("trace.json", text, 100);
  ASSERT_TRUE(timeline);
  EXPECT_EQ(timeline->slices.size(), 100u);
  EXPECT_EQ(timeline->left_out, 900u);
  EXPECT_EQ(timeline->slices.back().begin_us, 198);
}

TEST(Timeline, refuses_what_is_no_trace) {
  EXPECT_THAT(refusal("{\"traceEvents\": [\n {\"ph\": \"X\",,"), HasSubstr("trace.json:2:"));
  EXPECT_THAT(refusal(""), HasSubstr("trace.json:1:"));
  EXPECT_THAT(refusal("{\"nodes\": []}"), HasSubstr("this is no trace"));
  EXPECT_THAT(refusal("42"), HasSubstr("this is no trace"));
  EXPECT_THAT(refusal("{\"traceEvents\": {}}"), HasSubstr("this is no trace"));
  EXPECT_THAT(refusal("{\"a\": {\"traceEvents\": []}}"), HasSubstr("this is no trace"));
  EXPECT_THAT(refusal("[] 1"), HasSubstr("trace.json:1:4"));
  EXPECT_THAT(refusal("[]"), HasSubstr("no slice"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("nested deeper"));
}

TEST(Timeline, says_where_an_event_is_wrong) {
  EXPECT_THAT(refusal("{\"a\": [[1], \"]\\\"\"], \"traceEvents\": [\n  {\"ph\": \"M\", \"args\": [1, {}]},\n  7]}"),
              HasSubstr("trace.json:3:3: error: event 1: an event is an object, this is number"));
  EXPECT_THAT(refusal("[\n{\"ph\":\"X\",\"name\":\"a\",\"ts\":0,\"dur\":1},\n {\"ph\":\"X\",\"name\":\"b\",\"dur\":1}]"),
              HasSubstr("trace.json:3:2: error: event 1: slice 'b' needs a number of microseconds in 'ts'"));
  EXPECT_THAT(refusal("[{\"ph\":\"X\",\"ts\":0,\"dur\":1}]"),
              HasSubstr("trace.json:1:2: error: event 0: a slice needs a 'name'"));
  EXPECT_THAT(refusal("[{\"ph\":\"X\",\"name\":\"b\",\"ts\":0,\"dur\":-1}]"), HasSubstr("'dur' is negative"));
  EXPECT_THAT(refusal("[{\"ph\":\"X\",\"name\":\"b\",\"ts\":1e300,\"dur\":1}]"), HasSubstr("'ts' is beyond"));
  EXPECT_THAT(refusal("[{\"ph\":\"X\",\"name\":\"b\",\"ts\":\"0\",\"dur\":1}]"), HasSubstr("in 'ts'"));
  EXPECT_THAT(refusal("[{\"name\":\"b\"}]"), HasSubstr("'ph'"));
}

}  // namespace
}  // namespace sheaf
