// `sheaf bench`: statistics of durations, and reports side by side.
#include "tools/bench/compare.h"
#include "tools/bench/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

TEST(Durations, QuartilesAreInterpolated) {
  const Durations odd = durations({5, 1, 4, 2, 3});
  EXPECT_EQ(odd.count, 5U);
  EXPECT_DOUBLE_EQ(odd.median, 3);
  EXPECT_DOUBLE_EQ(odd.lower_quartile, 2);
  EXPECT_DOUBLE_EQ(odd.upper_quartile, 4);
  EXPECT_DOUBLE_EQ(odd.least, 1);
  EXPECT_DOUBLE_EQ(odd.most, 5);
  const Durations even = durations({4, 1, 3, 2});  // numpy.percentile([1, 2, 3, 4], [25, 50, 75])
  EXPECT_DOUBLE_EQ(even.median, 2.5);
  EXPECT_DOUBLE_EQ(even.lower_quartile, 1.75);
  EXPECT_DOUBLE_EQ(even.upper_quartile, 3.25);
  const Durations one = durations({7});
  EXPECT_DOUBLE_EQ(one.median, 7);
  EXPECT_DOUBLE_EQ(one.lower_quartile, 7);
  EXPECT_DOUBLE_EQ(one.p99, 7);
  std::vector<double> hundred;
  for (int i = 101; i > 0; --i) hundred.push_back(i);
  EXPECT_DOUBLE_EQ(durations(hundred).p95, 96);
  EXPECT_DOUBLE_EQ(durations(hundred).p99, 100);
}

Json report(double q1, double median, double q3, int64_t batch = 10) {
  return {{"model", "m"},           {"batch", batch},        {"samples_per_s", static_cast<double>(batch) / median},
          {"step_seconds", median}, {"step_seconds_q1", q1}, {"step_seconds_q3", q3},
          {"bind_seconds", 0.5},    {"peak_MiB", 100.0}};
}

TEST(Compare, OverlappingQuartilesAreNoDifference) {
  const Json old = report(0.9, 1.0, 1.1);
  EXPECT_EQ(compare_reports("o", old, report(1.05, 1.2, 1.3))["verdict"], "within the spread");
  EXPECT_EQ(compare_reports("o", old, report(1.11, 1.2, 1.3))["verdict"], "slower");
  EXPECT_EQ(compare_reports("o", old, report(0.7, 0.8, 0.89))["verdict"], "faster");
  EXPECT_EQ(compare_reports("o", old, old)["verdict"], "within the spread");
  // Twice the rows in twice the time are as fast.
  EXPECT_EQ(compare_reports("o", old, report(1.8, 2.0, 2.2, 20))["verdict"], "within the spread");
}

TEST(Compare, RatiosAreNewOverOld) {
  const Json old = report(0.9, 1.0, 1.1), now = report(0.4, 0.5, 0.6, 20);
  const Json comparison = compare_reports("old.json", old, now);
  EXPECT_DOUBLE_EQ(comparison["ratios"]["step_seconds"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(comparison["ratios"]["samples_per_s"].get<double>(), 4);
  EXPECT_DOUBLE_EQ(comparison["ratios"]["peak_MiB"].get<double>(), 1);
  ASSERT_EQ(comparison["differences"].size(), 1U);
  EXPECT_EQ(comparison["differences"][0]["what"], "batch");
  EXPECT_THAT(comparison_text(comparison, old, now), HasSubstr("they differ in batch: 10, now 20"));
  EXPECT_THAT(comparison_text(comparison, old, now), HasSubstr("× 4.000"));
}

TEST(Compare, AFileThatIsNoReportIsRefused) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "sheaf-report.json";
  const auto refused = [&](const std::string& text) {
    std::ofstream(file) << text;
    auto read = read_report(file.string());
    return read ? std::string() : to_string(read.error());
  };
  EXPECT_THAT(refused("{"), HasSubstr("is no JSON"));
  EXPECT_THAT(refused("[1]"), HasSubstr("sheaf-report.json"));
  EXPECT_THAT(refused("{\"samples_per_s\": 1}"), HasSubstr("\"step_seconds\""));
  EXPECT_EQ(refused(report(1, 2, 3).dump()), "");
  std::filesystem::remove(file);
  EXPECT_FALSE(read_report(file.string()));
}

}  // namespace
}  // namespace sheaf
