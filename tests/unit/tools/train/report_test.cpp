// A run's reports: metrics, the bar, the plot.
#include "runtime/base/file.h"
#include "tools/train/display.h"
#include "tools/train/metrics_file.h"
#include "tools/train/plot.h"
#include "tests/unit/runtime/training/fake_learner.h"

#include <gmock/gmock.h>

#include <fstream>
#include <regex>

namespace sheaf::training_tests {
namespace {

using testing::HasSubstr;

EpochRecord epoch_of(int64_t number, std::optional<double> accuracy, std::optional<double> loss = {}) {
  EpochRecord record;
  record.epoch = number;
  record.steps = 10;
  record.seconds = 2;
  record.train_loss = 1.0 / static_cast<double>(number);
  record.lr = 0.1;
  record.rows = 1000;
  if (accuracy || loss) record.evaluation = Evaluation{loss, {}, 100, 0.5};
  if (accuracy) record.evaluation->metrics = {{Metric::accuracy, *accuracy}};
  return record;
}

TEST(Metrics, Lines) {
  EXPECT_EQ(metrics_line(StepRecord{3, 1, 50, 0.5, 0.125, 0.25}),
            R"({"step":3,"epoch":1,"loss":0.5,"lr":0.125,"samples_per_s":200.0})");
  EXPECT_THAT(metrics_line(StepRecord{3, 1, 50, std::nan(""), 0.125, 0.25}), HasSubstr(R"("loss":null)"));
  const auto line = nlohmann::json::parse(metrics_line(epoch_of(2, 0.75, 0.5)));
  EXPECT_EQ(line["epoch"], 2);
  EXPECT_EQ(line["seconds"], 2.0);
  EXPECT_EQ(line["train_loss"], 0.5);
  EXPECT_EQ(line["eval_accuracy"], 0.75);
  EXPECT_EQ(line["eval_loss"], 0.5);
  EXPECT_EQ(line["samples_per_s"], 500.0);
  EXPECT_FALSE(line.contains("step"));
  EXPECT_FALSE(nlohmann::json::parse(metrics_line(epoch_of(2, {}))).contains("eval_accuracy"));
}

using Files = Folder;

TEST_F(Files, MetricsOfAResumedRunGoOnWhereItDoes) {
  const auto write = [&](int64_t from_step, int64_t epochs, int64_t to_step, const std::string& after = "") {
    auto file = MetricsFile::open(path("m.jsonl"), from_step, epochs);
    ASSERT_TRUE(file);
    for (int64_t step = from_step + 1; step <= to_step; ++step) {
      ASSERT_TRUE(file->add(metrics_line(StepRecord{step, (step - 1) / 2 + 1, 1, 0, 0, 1})));
      if (step % 2 == 0) {
        ASSERT_TRUE(file->add(metrics_line(epoch_of(step / 2, {}))));
      }
    }
    ASSERT_TRUE(file->flush());
    std::ofstream(path("m.jsonl"), std::ios::app) << after;
  };
  write(0, 0, 6);
  const std::string whole = *read_file(path("m.jsonl"), 1 << 20);
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), 9);
  write(0, 0, 5, "{\"step\": 6, \"epo");  // killed in the middle of a line
  write(3, 1, 6);
  EXPECT_EQ(*read_file(path("m.jsonl"), 1 << 20), whole);
  write(0, 0, 1);
  EXPECT_EQ(*read_file(path("m.jsonl"), 1 << 20), whole.substr(0, whole.find('\n') + 1)) << "a new run begins anew";
}

TEST_F(Files, MetricsThatCannotBeWritten) {
  const auto file = MetricsFile::open(path("no/such/folder.jsonl"), 0, 0);
  ASSERT_FALSE(file);
  EXPECT_THAT(to_string(file.error()), HasSubstr("folder.jsonl: error: "));
  auto full = MetricsFile::open("/dev/full", 0, 0);
  ASSERT_TRUE(full);
  ASSERT_TRUE(full->add("{}"));
  EXPECT_FALSE(full->flush());
}

TEST(Bar, Lines) {
  const RunLength length{10, 2350, 235};
  const StepRecord record{590, 3, 256, 0.43123, 0.1, 0.04};
  const std::string line = bar_line(length, record, 5432.4, 0.034, 72, 100);
  EXPECT_EQ(line, "epoch 3/10 [==============>              ] 120/235  loss 0.4312  5,432 samples/s  3% wait  1:12 left");
  for (int width = 0; width < 120; ++width)
    EXPECT_LE(bar_line(length, record, 5432.4, 0.034, 72, width).size(), static_cast<size_t>(width));
  EXPECT_THAT(bar_line(length, {235, 1, 1, 1, 1, 1}, 1, 0, 1, 100), HasSubstr("=] 235/235"));
  EXPECT_THAT(bar_line(length, {236, 2, 1, 1, 1, 1}, 1, 0, 1, 100), HasSubstr(" 1/235"));
}

TEST(Bar, Numbers) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(-1234567), "-1,234,567");
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(59.6), "1:00");
  EXPECT_EQ(clock_text(3725), "1:02:05");
}

TEST(Bar, EpochLine) {
  EXPECT_EQ(epoch_line(epoch_of(2, 0.91244, 0.25), 10),
            "epoch 2/10  train loss 0.5  eval loss 0.25  eval accuracy 0.9124  500 samples/s  2 s, 0.0% waiting for data");
  EpochRecord record = epoch_of(3, {});
  record.complete = false;
  record.data_wait_seconds = 0.5;
  EXPECT_EQ(epoch_line(record, 3), "epoch 3/3 (10 steps)  train loss 0.3333  500 samples/s  2 s, 25.0% waiting for data");
}

TEST(Bar, NoTerminalGetsOneLineAnEpoch) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  Display display(file, {2, 20, 10});
  for (int64_t step = 1; step <= 20; ++step) display.step({step, (step - 1) / 10 + 1, 1, 0.5, 0.1, 0.1});
  display.epoch(epoch_of(1, {}));
  display.epoch(epoch_of(2, {}));
  EXPECT_EQ(std::ftell(file),
            static_cast<long>(epoch_line(epoch_of(1, {}), 2).size() + epoch_line(epoch_of(2, {}), 2).size() + 2));
  std::fclose(file);
}

TEST(Curve, StaysSmallAndKeepsTheMean) {
  LossCurve curve;
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    curve.add(i);
    sum += i;
    ASSERT_LT(curve.points().size(), LossCurve::kMostPoints);
  }
  double total = curve.open_sum();
  for (const double point : curve.points()) total += point * static_cast<double>(curve.stride());
  EXPECT_EQ(total, sum);
  EXPECT_EQ(static_cast<int64_t>(curve.points().size()) * curve.stride() + curve.open_count(), 100'000);
  EXPECT_EQ(curve.points()[0], static_cast<double>(curve.stride() - 1) / 2);
}

/// Every tag that opens closes, in order; attributes are quoted; nothing is nan or infinite.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  const std::regex tag(R"re(<(/?)([a-z]+)((?: [A-Za-z0-9-]+="[^"<>]*")*)(/?)>)re");
  std::string between;
  size_t end = 0;
  for (std::sregex_iterator it(svg.begin(), svg.end(), tag), last; it != last; ++it) {
    between += svg.substr(end, static_cast<size_t>(it->position()) - end);
    end = static_cast<size_t>(it->position() + it->length());
    if ((*it)[1].length() > 0) {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), (*it)[2].str());
      open.pop_back();
    } else if ((*it)[4].length() == 0) {
      open.push_back((*it)[2]);
    }
  }
  EXPECT_TRUE(open.empty());
  between += svg.substr(end);
  EXPECT_EQ(between.find_first_of("<>"), std::string::npos) << between;
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST(Plot, IsWellFormedWhateverItShows) {
  for (const int epochs : {0, 1, 2, 10, 100, 1000}) {
    for (const double scale : {1.0, 1e-12, 1e30, -3.0, 0.0}) {
      LossCurve curve;
      std::vector<EpochRecord> records;
      for (int i = 0; i < epochs * 10; ++i) curve.add(scale / (i + 1));
      for (int i = 0; i < epochs; ++i) {
        records.push_back(
            epoch_of(i + 1, i % 2 ? std::optional(0.5) : std::nullopt, i % 3 ? std::optional(std::nan("")) : std::nullopt));
        records.back().train_loss = scale;
      }
      expect_well_formed(training_plot("a <b> & \"c\" \x01", curve, 10, records));
    }
  }
}

TEST(Plot, ShowsWhatThereIs) {
  LossCurve curve;
  for (int i = 0; i < 30; ++i) curve.add(2.0 / (i + 1));
  const std::vector<EpochRecord> records{epoch_of(1, 0.5, 0.7), epoch_of(2, 0.6, 0.6), epoch_of(3, 0.9375, 0.5)};
  const std::string both = training_plot("resnet18", curve, 10, records);
  EXPECT_THAT(both, testing::AllOf(HasSubstr(">loss<"), HasSubstr(">accuracy<"), HasSubstr("(0.9375 at the end)"),
                                   HasSubstr("width=\"920\"")));
  const std::vector<EpochRecord> plain{epoch_of(1, {})};
  const std::string loss = training_plot("resnet18", curve, 10, plain);
  EXPECT_THAT(loss, testing::AllOf(HasSubstr("width=\"460\""), testing::Not(HasSubstr("accuracy"))));
}

TEST(Plot, SmallDifferencesOfAccuracyAreSeen) {
  const std::vector<EpochRecord> records{epoch_of(1, 0.97), epoch_of(2, 0.98), epoch_of(3, 0.99)};
  const std::string svg = training_plot("resnet18", LossCurve(), 10, records);
  const std::regex line("stroke=\"#2b8a3e\"[^>]*points=\"[0-9.]+,([0-9.]+) [0-9.]+,[0-9.]+ [0-9.]+,([0-9.]+) ");
  std::smatch ends;
  ASSERT_TRUE(std::regex_search(svg, ends, line)) << svg;
  EXPECT_GT(std::stod(ends[1]) - std::stod(ends[2]), 150) << "of 220 units of height";
}

}  // namespace
}  // namespace sheaf::training_tests
