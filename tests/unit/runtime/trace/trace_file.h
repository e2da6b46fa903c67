// A trace file read back, with the properties that each must have.
#pragma once

#include "runtime/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace sheaf {

struct TraceFile {
  Json whole;
  std::map<int, std::string> tracks;  ///< by tid
  std::vector<Json> slices, counters;
  struct Flow {
    Json from, to;
  };
  std::map<int64_t, Flow> flows;

  explicit TraceFile(const std::string& text) : whole(Json::parse(text, nullptr, false)) { read(); }

  std::vector<Json> slices_on(const std::string& track) const {
    std::vector<Json> found;
    for (const Json& slice : slices) {
      if (tracks.at(slice["tid"]) == track) found.push_back(slice);
    }
    return found;
  }
  /// Those that are operations: neither steps nor waits.
  std::vector<Json> operations(int64_t step) const {
    std::vector<Json> found;
    for (const Json& slice : slices) {
      if (slice["cat"] != "step" && slice["cat"] != "wait" && slice["args"]["step"] == step) found.push_back(slice);
    }
    return found;
  }

 private:
  /// Nanoseconds: the file has three decimals of a microsecond.
  static int64_t ns(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

  void read() {
    ASSERT_FALSE(whole.is_discarded()) << "no JSON";
    ASSERT_TRUE(whole["traceEvents"].is_array());
    EXPECT_EQ(whole["displayTimeUnit"], "ns");
    int64_t last = 0;
    for (const Json& event : whole["traceEvents"]) {
      const std::string phase = event["ph"];
      ASSERT_NE(std::string("MXsfC").find(phase), std::string::npos) << event;
      EXPECT_EQ(event["pid"], 1);
      if (phase == "M") {
        if (event["name"] == "thread_name") {
          EXPECT_TRUE(tracks.emplace(event["tid"], event["args"]["name"]).second) << "two names for one track: " << event;
        }
        continue;
      }
      ASSERT_GE(ns(event["ts"]), last) << "out of order: " << event;
      last = ns(event["ts"]);
      if (phase == "C") {
        EXPECT_GE(event["args"]["live"].get<int64_t>(), 0);
        counters.push_back(event);
        continue;
      }
      ASSERT_TRUE(tracks.contains(event["tid"])) << "on no named track: " << event;
      ASSERT_FALSE(event["name"].get<std::string>().empty());
      ASSERT_TRUE(event["cat"].is_string() && event["args"].is_object()) << event;
      if (phase == "X") {
        ASSERT_GE(ns(event["dur"]), 0) << event;
        slices.push_back(event);
      } else {
        Json& end = phase == "s" ? flows[event["id"]].from : flows[event["id"]].to;
        EXPECT_TRUE(end.is_null()) << "an id twice: " << event;
        end = event;
      }
    }
    check_tracks();
    check_flows();
  }

  /// Slices of one track follow one another.
  void check_tracks() const {
    std::map<int, int64_t> ends;
    for (const Json& slice : slices) {
      const int tid = slice["tid"];
      EXPECT_GE(ns(slice["ts"]), ends[tid]) << "overlaps the one before: " << slice;
      ends[tid] = ns(slice["ts"]) + ns(slice["dur"]);
    }
  }

  void check_flows() const {
    for (const auto& [id, flow] : flows) {
      ASSERT_FALSE(flow.from.is_null() || flow.to.is_null()) << "flow " << id << " lacks an end";
      EXPECT_EQ(flow.from["name"], flow.to["name"]);
      EXPECT_EQ(flow.to["bp"], "e");
      EXPECT_LE(ns(flow.from["ts"]), ns(flow.to["ts"]));
      EXPECT_NE(flow.from["tid"], flow.to["tid"]) << flow.from;
      for (const Json* end : {&flow.from, &flow.to}) {
        const bool inside = std::any_of(slices.begin(), slices.end(), [&](const Json& slice) {
          return slice["tid"] == (*end)["tid"] && ns(slice["ts"]) <= ns((*end)["ts"]) &&
                 ns((*end)["ts"]) <= ns(slice["ts"]) + ns(slice["dur"]) && slice["args"]["step"] == (*end)["args"]["step"];
        });
        EXPECT_TRUE(inside) << "an arrow's end is in no slice of its track: " << *end;
      }
    }
  }
};

}  // namespace sheaf
