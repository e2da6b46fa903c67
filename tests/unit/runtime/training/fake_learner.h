// A learner without a model: one weight, whose steps depend on everything that a real step depends on, so that any misplaced
// row, step number, seed or learning rate changes its bits.
#pragma once

#include "runtime/training/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <limits>

namespace sheaf::training_tests {

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "sheaf-train-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

/// `rows` rows: x [rows, 2] with x[i] = (i, i + 0.5), label [rows] with label[i] = i modulo 3.
inline Dataset numbered_rows(int64_t rows) {
  auto x = make_tensor(DType::float32, {rows, 2});
  auto label = make_tensor(DType::int64, {rows});
  EXPECT_TRUE(x && label);
  for (int64_t i = 0; i < rows; ++i) {
    x->as<float>()[static_cast<size_t>(2 * i)] = static_cast<float>(i);
    x->as<float>()[static_cast<size_t>(2 * i + 1)] = static_cast<float>(i) + 0.5F;
    label->as<int64_t>()[static_cast<size_t>(i)] = i % 3;
  }
  std::vector<HostTensor> tensors;
  tensors.push_back(std::move(*x));
  tensors.push_back(std::move(*label));
  auto data = Dataset::make(
      {{"x", DType::float32, {Extent::symbol("batch"), 2}, 0}, {"label", DType::int64, {Extent::symbol("batch")}, 0}},
      std::move(tensors));
  EXPECT_TRUE(data);
  return *std::move(data);
}

class FakeLearner : public Learner {
 public:
  float weight = 1, velocity = 0;
  int64_t nan_at = 0;
  std::vector<double> rates;  ///< learning rates of the steps
  std::vector<int64_t> row_counts;
  int came_ahead = 0;        ///< steps whose batch the step before was given
  bool overlapping = false;  ///< steps are done when they are finished, as if a device did them
  size_t most_started = 0;   ///< at a time

  explicit FakeLearner(uint64_t seed = 0) {
    progress_.lr = 0.125;
    progress_.seed = seed;
  }

  bool overlaps() const override { return overlapping; }
  Result<void> start(int64_t rows, std::span<const void* const> buffers, std::span<const void* const> next) override {
    started_.push_back({rows, {buffers.begin(), buffers.end()}, progress_.steps + 1, learning_rate()});
    most_started = std::max(most_started, started_.size());
    EXPECT_LE(started_.size(), overlapping ? 2U : 1U);
    note_next(rows, buffers, next);
    ++progress_.steps;
    return {};
  }
  /// Only now are its data looked at: they must still be there.
  Result<float> finish() override {
    if (started_.empty()) return Error("nothing is started");
    const Started step = std::move(started_.front());
    started_.pop_front();
    const float loss = work(step);
    if (std::isfinite(loss)) return loss;
    progress_.steps = step.number - 1;
    started_.clear();
    return loss;
  }
  void forget_next() override { next_.clear(); }
  Result<std::string> first_not_finite(int64_t, std::span<const void* const> buffers) override {
    EXPECT_TRUE(started_.empty());
    not_finite_row = static_cast<const float*>(buffers[0])[0];
    return std::string("net.conv1");
  }
  float not_finite_row = -1;  ///< the first row's number in the batch that was searched
  TrainingProgress& progress() override { return progress_; }
  double learning_rate() const override { return progress_.lr * std::pow(0.5, static_cast<double>(progress_.epochs)); }

  std::vector<TensorView> tensors() const {
    return {{"w", DType::float32, {1}, &weight}, {"w.momentum_buffer", DType::float32, {1}, &velocity}};
  }
  void restore(const std::vector<HostTensor>& tensors) {
    weight = tensors[0].as<float>()[0];
    velocity = tensors[1].as<float>()[0];
  }

 private:
  struct Started {
    int64_t rows = 0;
    std::vector<const void*> buffers;
    int64_t number = 0;
    double rate = 0;
  };
  void note_next(int64_t rows, std::span<const void* const> buffers, std::span<const void* const> next) {
    EXPECT_EQ(buffers.size(), 2U);
    // The next batch, where it was given, is the one that comes, and was there already.
    if (!next_.empty()) {
      EXPECT_TRUE(std::ranges::equal(buffers, next_) && rows == next_rows_);
      EXPECT_EQ(std::memcmp(buffers[0], next_x_.data(), next_x_.size() * sizeof(float)), 0);
      ++came_ahead;
    }
    next_.assign(next.begin(), next.end());
    next_rows_ = rows;
    if (!next.empty()) next_x_.assign(static_cast<const float*>(next[0]), static_cast<const float*>(next[0]) + 2 * rows);
  }
  float work(const Started& step) {
    const auto* x = static_cast<const float*>(step.buffers[0]);
    const auto* label = static_cast<const int64_t*>(step.buffers[1]);
    float loss = 0;
    for (int64_t i = 0; i < step.rows; ++i)
      loss = loss * 0.75F + std::sin(x[2 * i] * weight) + static_cast<float>(label[i]) * 0.1F;
    rates.push_back(step.rate);
    row_counts.push_back(step.rows);
    if (step.number == nan_at) return std::numeric_limits<float>::quiet_NaN();
    velocity =
        velocity * 0.5F + loss + static_cast<float>((static_cast<uint64_t>(step.number) * 7 + progress_.seed) % 11) * 0.01F;
    weight -= static_cast<float>(step.rate) * 0.01F * velocity;
    return loss;
  }

  std::deque<Started> started_;
  std::vector<const void*> next_;
  int64_t next_rows_ = 0;
  std::vector<float> next_x_;
  TrainingProgress progress_;
};

inline std::vector<Parameter> fake_parameters() {
  return {{"w", DType::float32, {1}, false, {}, Json::object()},
          {"w.momentum_buffer", DType::float32, {1}, false, {}, Json::object()}};
}

inline std::vector<const Parameter*> pointers(const std::vector<Parameter>& parameters) {
  std::vector<const Parameter*> all;
  for (const Parameter& parameter : parameters) all.push_back(&parameter);
  return all;
}

inline LoopHooks no_hooks() {
  LoopHooks hooks;
  hooks.stopped = [] { return false; };
  return hooks;
}

inline RunIdentity identity(int64_t rows, const LoopSettings& settings) {
  return {"0123456789abcdef0123456789abcdef",
          "fake",
          rows,
          settings.batch_size,
          settings.seed,
          settings.shuffle,
          {"cpu:0", "cpu:1"},
          "strict",
          "x86-64-v3, 2 cores"};
}

}  // namespace sheaf::training_tests
