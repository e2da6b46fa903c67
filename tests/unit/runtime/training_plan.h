// A training program written by hand: least squares with momentum, y = x·w, in DataParallel. Its numbers are small integers and
// halves, so that sums have no rounding.
#pragma once

#include "plan_builder.h"
#include "runtime/plan/op_list.h"
#include "training_device.h"

#include <string>
#include <vector>

namespace sheaf {

struct TrainingOptions {
  bool in_place = true;      ///< the optimiser's steps may write over what they replace
  bool slow_reader = false;  ///< each replica still reads w when all else is done; "kept" becomes what they read
  bool reads_after = false;  ///< a step reads w after the step that makes its new value
  bool swap = false;         ///< "a" and "b" change places, and "c" takes b's old value
  bool refuse = false;       ///< a step of each replica fails at inputs above 900
};

/// Parameters w [n], buffer "row" (the first row of replica 0's chunk, made before the loss), state "w.m"; settings lr
/// and step. n = 3. Inputs x [batch, 3], t [batch]; the train program is the plan's only real one.
struct TrainingPlan {
  PlanBuilder b;

  int value(const std::string& name, std::vector<Extent> shape, Place place, Value::Role role, DType dtype = DType::float32) {
    const int id = b.value(name, std::move(shape), place, dtype);
    b.program.values.back().role = role;
    return id;
  }
  int weight(const std::string& name, Value::Role role, Place place = PlanBuilder::device(0)) {
    Parameter parameter;
    parameter.name = name;
    parameter.shape = {3};
    parameter.buffer = role == Value::buffer;
    parameter.init = {{"type", "constant"}, {"value", role == Value::state ? 0.0 : double(b.plan.parameters.size() + 1)}};
    (role == Value::state ? b.plan.state : b.plan.parameters).push_back(parameter);
    const int id = value(name, {3}, place, role);
    b.program.values.back().source = name;
    return id;
  }

  explicit TrainingPlan(const TrainingOptions& options = {}) {
    const Place home = b.device(0);
    const int x = b.input("x", {b.batch(), 3});
    const int lr = value("lr", {}, b.host(), Value::setting);
    const int t = value("t", {b.batch()}, b.host(), Value::target);
    value("step", {}, b.host(), Value::setting, DType::int64);
    const int w = weight("w", Value::parameter), row = weight("row", Value::buffer), m = weight("w.m", Value::state);
    const int r = b.region("net", b.batch());
    const Place inside = b.in_region(r);
    Json in_place = Json::object();
    if (options.in_place) in_place["in_place"] = Json::array({Json::array({0, 0})});

    const int xs = b.scatter(x, r, 0, {b.chunk(r), 3});
    const int ws = b.replicate(w, r);
    const int rows = b.step("first_row", {xs}, "rows", {3}, inside);
    const int first = b.step(Op::first, {rows}, "first", {3}, home, {{"region", r}});
    const int new_row = b.step("halve_and_add", {row, first}, "new_row", {3}, home, in_place);
    b.step("one", {}, "one", {1}, inside);
    b.program.steps.back().once = true;
    const int ys = b.step("rows_times", {xs, ws}, "net.fc", {b.chunk(r)}, inside);
    const int y = b.gather(ys, r, 0, {b.batch()}, home, "y");
    const int there = b.step(Op::transfer, {t}, "t.moved", {b.batch()}, home);
    b.output("loss", b.step("squares", {y, there}, "loss", {}, home));
    const int dy = b.step("minus", {y, there}, "dy", {b.batch()}, home);
    const int dys = b.scatter(dy, r, 0, {b.chunk(r)});
    const int dws = b.step("rows_times_backward", {xs, dys}, "dws", {3}, inside);
    const int dw = b.step(Op::reduce, {dws}, "dw", {3}, home, {{"region", r}});
    if (options.refuse) b.step("refuse", {xs}, "picky", {1}, inside);
    const int late = options.slow_reader ? b.step("slow_copy", {ws}, "late", {3}, inside) : -1;
    for (int gradient : {dws, dw}) b.program.values[size_t(gradient)].purpose = Value::Purpose::gradients;
    const int new_m = b.step("halve_and_add", {m, dw}, "new_m", {3}, home, in_place);
    const int rate = b.step(Op::transfer, {lr}, "lr.moved", {}, home);
    const int new_w = b.step(options.in_place ? "descend" : "descend_apart", {w, new_m, rate}, "new_w", {3}, home, in_place);
    b.program.values[size_t(new_m)].purpose = Value::Purpose::optimizer;
    for (int made : {new_row, new_w}) b.program.values[size_t(made)].purpose = Value::Purpose::parameters;
    b.program.updates = {{"row", new_row}, {"w", new_w}, {"w.m", new_m}};
    if (options.slow_reader) {
      weight("kept", Value::buffer);
      b.program.updates.push_back({"kept", b.step(Op::reduce, {late}, "kept.sum", {3}, home, {{"region", r}})});
    }
    if (options.reads_after) {
      const int old = weight("old", Value::buffer);
      b.program.updates.push_back({"old", b.step("halve_and_add", {old, w}, "new_old", {3}, home, in_place)});
    }
    if (options.swap) {
      const int a = weight("a", Value::parameter), c = weight("b", Value::parameter);
      weight("c", Value::parameter);
      b.program.updates.insert(b.program.updates.end(), {{"a", c}, {"b", a}, {"c", c}});
    }
    finish();
  }

  void finish() {
    b.plan.training = {{"optimizer", {{"type", "SGD"}, {"lr", 0.25}}}};
    b.plan.train = b.plan.infer;
    // Something to infer: y = x·w.
    b.program.updates.clear();
    b.program.outputs = {{"y", -1}};
    std::vector<Step> kept;
    for (Step& step : b.program.steps) {
      const std::string& name = b.program.values[size_t(step.outputs[0])].name;
      if (name.starts_with("x@") || name.starts_with("w@") || name == "net.fc" || name == "y") kept.push_back(step);
      if (name == "y") b.program.outputs[0].value = step.outputs[0];
    }
    b.program.steps = std::move(kept);
    for (Value& v : b.program.values) {
      if (v.role != Value::input && v.name != "w") v.role = Value::temporary;
    }
  }
};

/// What training does to the numbers, in plain C++.
struct TrainingReference {
  std::vector<float> w = {1, 1, 1}, row = {2, 2, 2}, m = {0, 0, 0};
  float lr = 0.25F;

  float step(const std::vector<float>& x, const std::vector<float>& t) {
    float loss = 0;
    std::vector<float> dw(3, 0.F);
    for (size_t i = 0; i < t.size(); ++i) {
      const float y = x[3 * i] * w[0] + x[3 * i + 1] * w[1] + x[3 * i + 2] * w[2];
      loss += (y - t[i]) * (y - t[i]);
      for (size_t j = 0; j < 3; ++j) dw[j] += x[3 * i + j] * (y - t[i]);
    }
    for (size_t j = 0; j < 3; ++j) {
      row[j] = row[j] / 2 + (t.empty() ? 0 : x[j]);
      m[j] = m[j] / 2 + dw[j];
      w[j] -= lr * m[j];
    }
    return loss;
  }
};

}  // namespace sheaf
