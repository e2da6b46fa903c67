// A training program over two convolutions that share their weight, by the CPU's own operations: loss = |conv(conv(x)) - t|²
// in DataParallel.
#pragma once

#include "runtime/plan/op_list.h"
#include "training_plan.h"

#include "sheaf/model.h"

#include <gtest/gtest.h>

namespace sheaf {

struct ConvolutionPlan {
  static constexpr const char* kPtx = "halve_and_add, descend";  ///< stands for their code: whoever loads it has to know it
  PlanBuilder b;

  /// `momentum`: gradient descent with a state "w.m", its updates as generated kernels over elements; else plain descent by
  /// operations that know plain tensors alone.
  explicit ConvolutionPlan(bool momentum = false) {
    const Place home = b.device(0);
    const Json window = {
        {"stride", {1, 1}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}, {"dilation", {1, 1}}, {"groups", 1}};
    const std::vector<std::string> roles = {"x", "weight"};
    const auto image = [](Extent rows) { return std::vector<Extent>{rows, 16, 5, 5}; };
    const int x = b.input("x", image(b.batch())), t = b.input("t", {b.batch(16 * 25)});
    b.program.values[size_t(t)].role = Value::target;
    const int lr = b.value("lr", {}, b.host());
    b.program.values.back().role = Value::setting;
    const int w = b.parameter("w", {16, 16, 3, 3}, home);
    b.plan.parameters[0].init["std"] = 0.05;
    const int r = b.region("net", b.batch());
    const Place inside = b.in_region(r);
    const int xs = b.scatter(x, r, 0, image(b.chunk(r))), ws = b.replicate(w, r);
    const int h = b.step(Op::conv, {xs, ws}, "h", image(b.chunk(r)), inside, window, roles);
    const int ys = b.step(Op::conv, {h, ws}, "ys", image(b.chunk(r)), inside, window, roles);
    const int y = b.gather(ys, r, 0, image(b.batch()), home, "y");
    const int flat = b.step(Op::view, {y}, "flat", {b.batch(16 * 25)}, home);
    const int there = b.step(Op::transfer, {t}, "there", {b.batch(16 * 25)}, home);
    const size_t forward = b.program.steps.size();
    b.output("loss", b.step("squares", {flat, there}, "loss", {}, home));
    const int dflat = b.step("minus", {flat, there}, "dflat", {b.batch(16 * 25)}, home);
    const int dy = b.step(Op::view, {dflat}, "dy", image(b.batch()), home);
    const int dys = b.scatter(dy, r, 0, image(b.chunk(r)));
    Json data = window, weights = window;
    data["size"] = {5, 5};
    weights["kernel_size"] = {3, 3};
    weights["bias"] = false;
    const int dh = b.step(Op::conv_backward_data, {dys, ws}, "dh", image(b.chunk(r)), inside, data, {"dy", "weight"});
    const auto gradient = [&](int of, int dof, const std::string& name) {
      const int part = b.step(Op::conv_backward_weight, {of, dof}, name, {16, 16, 3, 3}, inside, weights, {"x", "dy"});
      return b.step(Op::reduce, {part}, name + ".sum", {16, 16, 3, 3}, home, {{"region", r}});
    };
    const int first = gradient(h, dys, "dw2"), second = gradient(xs, dh, "dw1");
    const int rate = b.step(Op::transfer, {lr}, "rate", {}, home);
    const auto update = [&](const std::string& kernel, std::vector<int> inputs, const std::string& name) {
      const Json in_place = {{"in_place", Json::array({Json::array({0, 0})})}, {"work", 16 * 16 * 9}};
      const int made = b.step(Op::kernel, std::move(inputs), name, {16, 16, 3, 3}, home, in_place);
      if (!momentum) b.program.steps.back().op = Op::layer;
      b.program.steps.back().type = kernel;
      b.program.steps.back().kernel = kernel;
      return made;
    };
    int step = first;
    if (momentum) {
      for (const char* kernel : {"halve_and_add", "descend"}) b.plan.kernels.push_back({kernel, "", 0, true, {}, 64, 64});
      b.plan.objects = {{"ptx", kPtx}};
      Parameter state{"w.m", DType::float32, {16, 16, 3, 3}, false, {}, {{"type", "constant"}, {"value", 0.0}}};
      b.plan.state.push_back(state);
      const int m = b.value("w.m", {16, 16, 3, 3}, home);
      b.program.values.back().role = Value::state;
      b.program.values.back().source = "w.m";
      step = update("halve_and_add", {m, first}, "new_m");
      b.program.updates.push_back({"w.m", step});
    }
    const int half = update("descend", {w, step, rate}, "half");
    b.program.updates.push_back({"w", update("descend", {half, second, rate}, "new_w")});
    b.plan.training = {{"optimizer", {{"type", "SGD"}, {"lr", 1e-4}}}};
    b.plan.train = b.plan.infer;
    // To infer: y.
    b.program.updates.clear();
    b.program.outputs = {{"y", y}};
    b.program.steps.resize(forward - 2);
    for (Value& value : b.program.values) {
      if (value.role != Value::input && value.name != "w") value.role = Value::temporary;
    }
  }

  Model model() {
    auto made = Model::from_plan(std::move(b.plan));
    EXPECT_TRUE(made && made->initialise_parameters(5));
    return *made;
  }
};

/// Input and target of `rows` rows.
struct ConvolutionBatch {
  std::vector<float> x, t;
  explicit ConvolutionBatch(int64_t rows) : x(size_t(rows) * 400), t(size_t(rows) * 400) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
    for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<float>(i * 53 % 97) / 48 - 1;
  }
  std::vector<const void*> buffers() const { return {x.data(), t.data()}; }
};

}  // namespace sheaf
