// Scalar definitions of the nn dialect's training ops, as they are in a program, against PyTorch's formulas.
#include "ir/Nn/Nn.h"
#include "runtime/base/philox.h"
#include "tests/unit/codegen/loaded_kernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <limits>

namespace sheaf::kernels {
namespace {

using mlir::OpBuilder;
using mlir::ValueRange;
using Loc = mlir::Location;

/// The only element-wise op of a program as a kernel: a `?` is `batch`, unread operands are left out.
class OpKernel {
 public:
  /// `text`: `%y = nn.… : (…) -> …`, whose operands are `arguments` ("%x: tensor<?x4xf32>, …").
  OpKernel(const std::string& arguments, const std::string& text, std::vector<Extent> first = {}) {
    kernels.context.loadDialect<mlir::func::FuncDialect, nn::NnDialect>();
    module_ =
        mlir::parseSourceString<mlir::ModuleOp>("func.func @f(" + arguments + ") {\n" + text + "\nreturn\n}", &kernels.context);
    if (module_) add(std::move(first));
  }

  /// Runs on the buffers of the operands that are read, in order, then the result's.
  void run(std::vector<void*> buffers, std::map<std::string, int64_t> symbols, const std::function<void()>& check) {
    ASSERT_TRUE(module_ && use_.name.size());
    kernels.run(use_, std::move(buffers), symbols, 3, check);
  }

  LoadedKernels kernels;

 private:
  static Extent extent(int64_t size) { return mlir::ShapedType::isDynamic(size) ? batch() : Extent(size); }
  static DType dtype(mlir::Type element) {
    if (element.isF32()) return DType::float32;
    return element.isInteger(64) ? DType::int64 : DType::int32;
  }

  void add(std::vector<Extent> first) {
    nn::ElementwiseOpInterface op;
    module_->walk([&](nn::ElementwiseOpInterface found) { op = found; });
    ASSERT_TRUE(op);
    auto result = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
    ElementwiseSpec spec{
        .name = "op", .description = {}, .inputs = {}, .shape = {}, .outputs = {dtype(result.getElementType())}, .body = {}};
    for (int64_t size : result.getShape()) spec.shape.push_back(extent(size));
    if (op.usesCoordinates()) spec.coordinates = first.empty() ? std::vector<Extent>(spec.shape.size()) : std::move(first);
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      if (!op.operandIsRead(operand.getOperandNumber())) continue;
      auto type = mlir::cast<mlir::RankedTensorType>(operand.get().getType());
      Shape aligned(spec.shape.size(), Extent(1));
      auto dims = op.operandDims(operand.getOperandNumber(), type.getRank(), result.getRank());
      for (int64_t i = 0; i < type.getRank(); ++i) aligned[dims[i]] = extent(type.getDimSize(i));
      spec.inputs.push_back({dtype(type.getElementType()), aligned});
    }
    spec.body = [op](OpBuilder& b, Loc loc, ValueRange scalars) mutable {
      llvm::SmallVector<mlir::Value> elements;
      size_t next = 0;
      for (mlir::OpOperand& operand : op->getOpOperands())
        elements.push_back(op.operandIsRead(operand.getOperandNumber()) ? scalars[next++] : mlir::Value());
      llvm::append_range(elements, scalars.drop_front(next));
      return llvm::SmallVector<mlir::Value>{op.buildScalar(b, loc, elements)};
    };
    auto use = kernels.module.add_elementwise(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    use_ = *use;
    kernels.load();
  }

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  KernelUse use_;
};

TEST(TrainingOps, TargetWeightsSmoothIgnoreAndRefuse) {
  OpKernel op("%t: tensor<?x2xi64>",
              "%q = nn.target_weights %t {classes = 4 : i64, ignore_index = -1 : i64, label_smoothing = 0.2 : f64} : "
              "(tensor<?x2xi64>) -> tensor<?x4x2xf32>");
  std::vector<int64_t> t{0, 3, -1, 2, 4, -2};
  std::vector<float> q(24, 99);
  op.run({t.data(), q.data()}, {{"batch", 3}}, [&] {
    for (size_t n = 0; n < 3; ++n)
      for (size_t c = 0; c < 4; ++c)
        for (size_t d = 0; d < 2; ++d) {
          int64_t target = t[2 * n + d];
          float found = q[(n * 4 + c) * 2 + d];
          if (target == -1) EXPECT_EQ(found, 0);
          else if (target < 0 || target > 3) EXPECT_TRUE(std::isnan(found));
          else EXPECT_FLOAT_EQ(found, target == int64_t(c) ? 0.85f : 0.05f);
        }
  });
  // One row alone, of int32.
  OpKernel row("%t: tensor<i32>",
               "%q = nn.target_weights %t {classes = 3 : i64, ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : "
               "(tensor<i32>) -> tensor<3xf32>");
  int32_t one = 1;
  row.run({&one, q.data()}, {},
          [&] { EXPECT_EQ(std::vector<float>(q.begin(), q.begin() + 3), (std::vector<float>{0, 1, 0})); });
}

TEST(TrainingOps, TargetCountsAreTheSumsOfTheirWeights) {
  OpKernel op("%t: tensor<?xi64>",
              "%y = nn.target_counts %t {classes = 4 : i64, ignore_index = -1 : i64} : (tensor<?xi64>) -> tensor<?xf32>");
  std::vector<int64_t> t{0, 3, -1, 4, -2};
  std::vector<float> y(5, 99);
  op.run({t.data(), y.data()}, {{"batch", 5}}, [&] {
    EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 3), (std::vector<float>{1, 1, 0}));
    EXPECT_TRUE(std::isnan(y[3]) && std::isnan(y[4]));
  });
}

/// The mask belongs to an element's position in the whole batch, whichever dimension that runs along.
TEST(TrainingOps, DropoutMasksFollowThePlaceInTheBatch) {
  const double p = 0.3;
  int64_t step = 5, seed = 11;
  auto kept = [&](int64_t position) {
    auto words = philox({uint32_t(position), uint32_t(position >> 32), uint32_t(step), 7}, uint64_t(seed));
    return (words[0] >> 8) * 0x1p-24 >= p;
  };
  auto text = [](const std::string& type) {
    return "%y = nn.dropout_train %x step(%t) seed(%s) {p = 0.3 : f64, layer = 7 : i64} : (" + type +
           ", tensor<i64>, tensor<i64>) -> " + type;
  };
  std::vector<float> x(60, 2), y(60, 99);
  OpKernel rows("%x: tensor<?x6xf32>, %t: tensor<i64>, %s: tensor<i64>", text("tensor<?x6xf32>"),
                {Extent::symbol("first0"), Extent(0)});
  for (int64_t first : {0, 4, 1000})
    rows.run({x.data(), &step, &seed, y.data()}, {{"batch", 10}, {"first0", first}}, [&] {
      for (int64_t i = 0; i < 60; ++i)
        ASSERT_FLOAT_EQ(y[size_t(i)], kept(first * 6 + i) ? float(2 / (1 - p)) : 0) << first << " " << i;
    });
  // Time first: row n of the batch is the same sequence of numbers.
  OpKernel sequence("%x: tensor<3x?x2xf32>, %t: tensor<i64>, %s: tensor<i64>", text("tensor<3x?x2xf32>"));
  sequence.run({x.data(), &step, &seed, y.data()}, {{"batch", 10}}, [&] {
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t n = 0; n < 10; ++n)
        for (int64_t i = 0; i < 2; ++i)
          ASSERT_FLOAT_EQ(y[size_t((t * 10 + n) * 2 + i)], kept((n * 3 + t) * 2 + i) ? float(2 / (1 - p)) : 0);
  });
}

/// With a mask along only some dimensions, elements that differ in others are kept or dropped together.
TEST(TrainingOps, DropoutMasksOfWholeRowsAndChannels) {
  const double p = 0.3;
  int64_t step = 5, seed = 11;
  auto kept = [&](int64_t position) {
    auto words = philox({uint32_t(position), uint32_t(position >> 32), uint32_t(step), 7}, uint64_t(seed));
    return (words[0] >> 8) * 0x1p-24 >= p;
  };
  std::vector<float> x(60, 2), y(60, 99);
  for (const auto& [dims, position] : {std::pair<std::string, int64_t (*)(int64_t)>("0", [](int64_t i) { return i / 6; }),
                                       {"0, 1", [](int64_t i) { return i / 2; }},
                                       {"", [](int64_t) { return int64_t{0}; }}}) {
    OpKernel op("%x: tensor<?x3x2xf32>, %t: tensor<i64>, %s: tensor<i64>",
                "%y = nn.dropout_train %x step(%t) seed(%s) {p = 0.3 : f64, layer = 7 : i64, mask_dims = array<i64" +
                    (dims.empty() ? dims : ": " + dims) +
                    ">} : (tensor<?x3x2xf32>, tensor<i64>, tensor<i64>) -> tensor<?x3x2xf32>");
    op.run({x.data(), &step, &seed, y.data()}, {{"batch", 10}}, [&] {
      for (int64_t i = 0; i < 60; ++i) ASSERT_FLOAT_EQ(y[size_t(i)], kept(position(i)) ? float(2 / (1 - p)) : 0) << dims << i;
    });
  }
}

/// torch.nn.RReLU with the slopes that the positions in the whole batch draw; the gradient is times the same.
TEST(TrainingOps, SlopesFollowThePlaceInTheBatch) {
  const double lower = 0.125, upper = 0.5;
  int64_t step = 5, seed = 11;
  auto slope = [&](int64_t position) {
    auto words = philox({uint32_t(position), uint32_t(position >> 32), uint32_t(step), 7}, uint64_t(seed));
    return lower + (upper - lower) * (words[0] >> 8) * 0x1p-24;
  };
  std::vector<float> dy(60), x(60), y(60, 99);
  for (size_t i = 0; i < 60; ++i) dy[i] = float(i) - 20, x[i] = float(i % 7) - 3;  // 0 among them, whose slope counts
  OpKernel op("%x: tensor<?x6xf32>, %v: tensor<?x6xf32>, %t: tensor<i64>, %s: tensor<i64>",
              "%y = nn.rrelu_train %x, %v step(%t) seed(%s) {lower = 0.125 : f64, upper = 0.5 : f64, layer = 7 : i64} : "
              "(tensor<?x6xf32>, tensor<?x6xf32>, tensor<i64>, tensor<i64>) -> tensor<?x6xf32>",
              {Extent::symbol("first0"), Extent(0)});
  for (int64_t first : {0, 4, 1000})
    op.run({dy.data(), x.data(), &step, &seed, y.data()}, {{"batch", 10}, {"first0", first}}, [&] {
      for (int64_t i = 0; i < 60; ++i)
        ASSERT_FLOAT_EQ(y[size_t(i)], x[size_t(i)] > 0 ? dy[size_t(i)] : float(dy[size_t(i)] * slope(first * 6 + i)))
            << first << " " << i;
    });
}

TEST(TrainingOps, DropoutOfEverythingGivesZeros) {
  OpKernel op("%x: tensor<4xf32>, %t: tensor<i64>, %s: tensor<i64>",
              "%y = nn.dropout_train %x step(%t) seed(%s) {p = 1.0 : f64, layer = 7 : i64} : (tensor<4xf32>, tensor<i64>, "
              "tensor<i64>) -> tensor<4xf32>");
  std::vector<float> x(4, 2), y(4, 99);
  int64_t step = 1, seed = 0;
  op.run({x.data(), &step, &seed, y.data()}, {}, [&] { EXPECT_EQ(y, std::vector<float>(4, 0)); });
}

TEST(TrainingOps, RunningStatistics) {
  std::vector<float> running{1, 2}, stat{5, -3}, y(2);
  float inverse_count = 0.25f;
  int64_t batches = 8;
  OpKernel mean("%r: tensor<2xf32>, %s: tensor<2xf32>",
                "%y = nn.running_average %r, %s {momentum = 0.1 : f64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>");
  mean.run({running.data(), stat.data(), y.data()}, {}, [&] {
    EXPECT_FLOAT_EQ(y[0], 1.4f);
    EXPECT_FLOAT_EQ(y[1], 1.5f);
  });
  OpKernel variance("%r: tensor<2xf32>, %s: tensor<2xf32>, %c: tensor<f32>",
                    "%y = nn.running_average %r, %s inverse_count(%c) {momentum = 0.1 : f64} : (tensor<2xf32>, tensor<2xf32>, "
                    "tensor<f32>) -> tensor<2xf32>");
  variance.run({running.data(), stat.data(), &inverse_count, y.data()}, {}, [&] {
    EXPECT_FLOAT_EQ(y[0], float(0.9 + 0.1 * 5 * 4 / 3));
    EXPECT_FLOAT_EQ(y[1], float(1.8 - 0.1 * 3 * 4 / 3));
  });
  OpKernel cumulative("%r: tensor<2xf32>, %s: tensor<2xf32>, %c: tensor<f32>, %n: tensor<i64>",
                      "%y = nn.running_average %r, %s inverse_count(%c) num_batches(%n) : (tensor<2xf32>, tensor<2xf32>, "
                      "tensor<f32>, tensor<i64>) -> tensor<2xf32>");
  cumulative.run({running.data(), stat.data(), &inverse_count, &batches, y.data()}, {}, [&] {
    EXPECT_FLOAT_EQ(y[0], float(0.875 + 0.125 * 5 * 4 / 3));
    EXPECT_FLOAT_EQ(y[1], float(1.75 - 0.125 * 3 * 4 / 3));
  });
  OpKernel count("%n: tensor<i64>", "%y = nn.increment %n : (tensor<i64>) -> tensor<i64>");
  int64_t next = 0;
  count.run({&batches, &next}, {}, [&] { EXPECT_EQ(next, 9); });
}

/// An optimiser's op on one element: operands that are read, then the results.
struct Update {
  std::string operands;  ///< of tensor<1xf32>, except lr, c1, c2 (0-dimensional f32) and step (0-dimensional i64)
  std::string op, attributes;
  std::vector<float> values;
  double expected;
  int64_t step = 0;  ///< if it is read, after the values
};

TEST(TrainingOps, OptimisersReadWhatTheirAttributesSay) {
  const double p = 2, g = 0.5, s = 3, lr = 0.125;
  const double decayed = g + 0.1 * p, risen = -g + 0.1 * p;
  std::vector<Update> updates{{"%s, %g, %p, %step",
                               "sgd_momentum",
                               "momentum = 0.9 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64, maximize = false",
                               {3, 0.5},
                               0.9 * s + g},
                              {"%s, %g, %p, %step",
                               "sgd_momentum",
                               "momentum = 0.9 : f64, dampening = 0.25 : f64, weight_decay = 0.1 : f64, maximize = true",
                               {3, 0.5, 2},
                               0.9 * s + 0.75 * risen,
                               2},
                              {"%s, %g, %p, %step",
                               "sgd_momentum",
                               "momentum = 0.9 : f64, dampening = 0.25 : f64, weight_decay = 0.1 : f64, maximize = true",
                               {3, 0.5, 2},
                               risen,
                               1},
                              {"%p, %g, %lr",
                               "sgd_update",
                               "momentum = 0.0 : f64, weight_decay = 0.1 : f64, maximize = true",
                               {2, 0.5, 0.125},
                               p - lr * risen},
                              {"%p, %g, %lr buffer(%s)",
                               "sgd_update",
                               "momentum = 0.9 : f64, weight_decay = 0.1 : f64, maximize = false",
                               {2, 0.5, 0.125, 3},
                               p - lr * (decayed + 0.9 * s)},
                              {"%s, %g, %p",
                               "adam_first_moment",
                               "beta = 0.9 : f64, weight_decay = 0.1 : f64, maximize = true",
                               {3, 0.5, 2},
                               0.9 * s + 0.1 * risen},
                              {"%s, %g, %p",
                               "adam_first_moment",
                               "beta = 0.9 : f64, weight_decay = 0.0 : f64, maximize = false",
                               {3, 0.5},
                               0.9 * s + 0.1 * g},
                              {"%s, %g, %p",
                               "adam_second_moment",
                               "beta = 0.99 : f64, weight_decay = 0.1 : f64, maximize = false",
                               {3, 0.5, 2},
                               0.99 * s + 0.01 * decayed * decayed},
                              {"%s, %p", "adam_max", "", {3, 2}, 3},
                              {"%p, %g, %s, %lr, %c1, %c2",
                               "adam_update",
                               "eps = 0.5 : f64, weight_decay = 0.0 : f64",
                               {2, 0.5, 3, 0.125, 0.5, 0.25},
                               p - lr / 0.5 * g / (std::sqrt(s) / 0.5 + 0.5)},
                              {"%p, %g, %s, %lr, %c1, %c2",
                               "adam_update",
                               "eps = 0.5 : f64, weight_decay = 0.1 : f64",
                               {2, 0.5, 3, 0.125, 0.5, 0.25},
                               p * (1 - lr * 0.1) - lr / 0.5 * g / (std::sqrt(s) / 0.5 + 0.5)},
                              {"%g, %p, %s",
                               "rmsprop_direction",
                               "eps = 0.5 : f64, weight_decay = 0.1 : f64, maximize = true",
                               {0.5, 2, 3},
                               risen / (std::sqrt(s) + 0.5)},
                              {"%g, %p, %s average(%a)",
                               "rmsprop_direction",
                               "eps = 0.5 : f64, weight_decay = 0.0 : f64, maximize = false",
                               {0.5, 3, 1},
                               g / (std::sqrt(s - 1) + 0.5)},
                              {"%lr", "clip_coefficient", "max_norm = 0.25 : f64", {4}, 0.125},
                              {"%lr", "clip_coefficient", "max_norm = 9.0 : f64", {4}, 1}};
  for (Update& update : updates) {
    SCOPED_TRACE(update.op + " {" + update.attributes + "}");
    std::string types;
    for (size_t at = update.operands.find('%'); at != std::string::npos; at = update.operands.find('%', at + 1)) {
      std::string name = update.operands.substr(at, update.operands.find_first_of(",) ", at) - at);
      bool scalar = name == "%lr" || name == "%c1" || name == "%c2";
      types += (types.empty() ? "" : ", ") + std::string(name == "%step" ? "tensor<i64>"
                                                         : scalar        ? "tensor<f32>"
                                                                         : "tensor<1xf32>");
    }
    std::string result = update.op == "clip_coefficient" ? "tensor<f32>" : "tensor<1xf32>";
    OpKernel op(
        "%p: tensor<1xf32>, %g: tensor<1xf32>, %s: tensor<1xf32>, %a: tensor<1xf32>, %lr: tensor<f32>, %c1: tensor<f32>, "
        "%c2: tensor<f32>, %step: tensor<i64>",
        "%y = nn." + update.op + " " + update.operands + " {" + update.attributes + "} : (" + types + ") -> " + result);
    std::vector<void*> buffers;
    for (float& value : update.values) buffers.push_back(&value);
    if (update.step) buffers.push_back(&update.step);
    float y = 99;
    buffers.push_back(&y);
    op.run(buffers, {}, [&] { EXPECT_NEAR(y, update.expected, 1e-6 * std::abs(update.expected)); });
  }
}

/// torch.amp.GradScaler's rules, at their edges. Operands and results are compared to the bit.
TEST(TrainingOps, LossScaling) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kMost = std::numeric_limits<float>::max();
  const std::string scale = "growth_factor = 2.0 : f64, backoff_factor = 0.25 : f64, growth_interval = 3 : i64";
  struct Case {
    std::string text, attributes;
    std::vector<float> values;
    float expected;
  };
  const std::vector<Case> cases = {{"keep_unless_finite %a, %b unless %c", "", {2, 3, 0}, 3},
                                   {"keep_unless_finite %a, %b unless %c", "", {2, 3, 1}, 2},
                                   {"keep_unless_finite %a, %b unless %c", "", {2, kNan, 7}, 2},
                                   {"loss_scale %a, %b, %c", scale, {8, 1, 0}, 8},
                                   {"loss_scale %a, %b, %c", scale, {8, 2, 0}, 16},
                                   {"loss_scale %a, %b, %c", scale, {8, 2, 5}, 2},
                                   {"loss_scale %a, %b, %c", scale, {kMost, 2, 0}, kMost},  // it would be infinite
                                   {"loss_scale %a, %b, %c", scale, {0x1p-149F, 0, 1}, 0},
                                   {"growth_tracker %a, %b", "growth_interval = 3 : i64", {0, 0}, 1},
                                   {"growth_tracker %a, %b", "growth_interval = 3 : i64", {2, 0}, 0},
                                   {"growth_tracker %a, %b", "growth_interval = 3 : i64", {1, 2}, 0}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text + " of " + std::to_string(one.values[0]));
    std::string types;
    for (size_t i = 0; i < one.values.size(); ++i) types += i == 0 ? "tensor<f32>" : ", tensor<f32>";
    OpKernel op("%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>",
                "%y = nn." + one.text + " {" + one.attributes + "} : (" + types + ") -> tensor<f32>");
    std::vector<float> values = one.values;
    std::vector<void*> buffers;
    for (float& value : values) buffers.push_back(&value);
    float y = 99;
    buffers.push_back(&y);
    op.run(buffers, {}, [&] { EXPECT_EQ(y, one.expected); });
  }
}

/// What PyTorch computes in Python's double precision. A product of powers may differ from pow() by some 2^-52: at most a
/// float's last bit, if 1 - beta^step is between two.
TEST(TrainingOps, BiasCorrections) {
  for (const std::string text : {"0.0", "0.5", "0.9", "0.999", "0.9999999"}) {
    OpKernel op("%step: tensor<i64>",
                "%y = nn.bias_correction %step {beta = " + text + " : f64} : (tensor<i64>) -> tensor<f32>");
    const double beta = std::stod(text);
    for (int64_t step : {1LL, 2LL, 3LL, 7LL, 10LL, 99LL, 1000LL, 123'456LL, 1LL << 20, (1LL << 20) + 1, 1LL << 40, 1LL << 53}) {
      SCOPED_TRACE(text + "^" + std::to_string(step));
      const auto expected = static_cast<float>(1 - std::pow(beta, static_cast<double>(step)));
      float y = 99;
      op.run({&step, &y}, {}, [&] { EXPECT_FLOAT_EQ(y, expected); });
    }
  }
}

}  // namespace
}  // namespace sheaf::kernels
