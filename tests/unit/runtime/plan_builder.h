// Plans written by hand, for tests of binding and execution.
#pragma once

#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"
#include "runtime/plan/plan.h"

#include <string>
#include <vector>

namespace sheaf {

class PlanBuilder {
 public:
  Plan plan;
  Program& program = plan.infer;

  PlanBuilder() {
    plan.producer = "test";
    plan.name = "test";
    program.symbols.push_back({"batch", Symbol::batch, -1, {}});
  }

  static Place host() { return {Place::host, 0}; }
  static Place device(int k) { return {Place::device, k}; }
  static Place in_region(int r) { return {Place::region, r}; }
  static Extent batch(int64_t factor = 1) { return Extent::symbol("batch", factor); }

  int value(const std::string& name, std::vector<Extent> shape, Place place, DType dtype = DType::float32) {
    Value value;
    value.name = name;
    value.shape = std::move(shape);
    value.place = place;
    value.dtype = dtype;
    program.values.push_back(value);
    return static_cast<int>(program.values.size()) - 1;
  }

  int input(const std::string& name, std::vector<Extent> shape, DType dtype = DType::float32) {
    const int id = value(name, std::move(shape), host(), dtype);
    program.values.back().role = Value::input;
    return id;
  }

  int parameter(const std::string& name, std::vector<int64_t> shape, Place place = {}) {
    Parameter parameter;
    parameter.name = name;
    parameter.shape = shape;
    parameter.init["type"] = "normal";
    parameter.init["std"] = 0.5;
    plan.parameters.push_back(parameter);
    const int id = value(name, std::vector<Extent>(shape.begin(), shape.end()), place);
    program.values.back().role = Value::parameter;
    program.values.back().source = name;
    return id;
  }

  /// A region; `of` is what its chunk symbol "c<r>" splits.
  int region(const std::string& name, std::optional<Extent> of, std::optional<std::vector<int>> ids = {}, int dim = 0,
             std::optional<int> output_device = {}) {
    const int r = static_cast<int>(plan.regions.size());
    plan.regions.push_back({name, std::move(ids), output_device, dim, {"model.json", 7 + r, 3}});
    if (of) program.symbols.push_back({"c" + std::to_string(r), Symbol::chunk, r, *of});
    program.symbols.push_back({"k" + std::to_string(r), Symbol::replicas, r, {}});
    return r;
  }
  static Extent chunk(int r, int64_t factor = 1) { return Extent::symbol("c" + std::to_string(r), factor); }
  static Extent replicas(int r) { return Extent::symbol("k" + std::to_string(r)); }

  /// Of op `layer`: what only a test's own device knows, by this name.
  int step(const char* type, std::vector<int> inputs, const std::string& name, std::vector<Extent> shape, Place place,
           Json attributes = Json::object(), std::vector<std::string> roles = {}) {
    const int output =
        step(Op::layer, std::move(inputs), name, std::move(shape), place, std::move(attributes), std::move(roles));
    program.steps.back().type = type;
    return output;
  }
  int step(Op op, std::vector<int> inputs, const std::string& name, std::vector<Extent> shape, Place place,
           Json attributes = Json::object(), std::vector<std::string> roles = {}) {
    const int output = value(name, std::move(shape), place);
    if (moves(op)) program.values.back().purpose = Value::Purpose::communication;
    Step step;
    step.op = op;
    step.inputs = std::move(inputs);
    step.roles = std::move(roles);
    if (step.roles.empty()) step.roles.assign(step.inputs.size(), "x");
    step.outputs = {output};
    step.attributes = std::move(attributes);
    step.place = place;
    step.layer = name;
    program.steps.push_back(step);
    return output;
  }

  int scatter(int x, int r, int dim, std::vector<Extent> shape) {
    return step(Op::scatter, {x}, program.values[size_t(x)].name + "@scatter" + std::to_string(r), std::move(shape),
                in_region(r), {{"dim", dim}, {"region", r}});
  }
  int replicate(int x, int r) {
    const int copy = step(Op::replicate, {x}, program.values[size_t(x)].name + "@replica" + std::to_string(r),
                          program.values[size_t(x)].shape, in_region(r), {{"region", r}});
    if (program.values[size_t(x)].role == Value::parameter) program.values.back().purpose = Value::Purpose::parameters;
    return copy;
  }
  int gather(int x, int r, int dim, std::vector<Extent> shape, Place place, const std::string& name, bool scalar = false) {
    Json attributes = {{"dim", dim}, {"region", r}};
    if (scalar) attributes["scalar"] = true;
    return step(Op::gather, {x}, name, std::move(shape), place, attributes);
  }
  int linear(int x, int weight, int bias, const std::string& name, std::vector<Extent> shape, Place place, bool relu = false) {
    Json attributes = Json::object();
    if (relu) attributes["activation"] = {{"kind", "relu"}};
    return step(Op::linear, {x, weight, bias}, name, std::move(shape), place, attributes, {"x", "weight", "bias"});
  }
  void output(const std::string& name, int value) { program.outputs.push_back({name, value}); }
};

/// Linear(in, out) inside DataParallel, outputs gathered at `place`.
inline PlanBuilder data_parallel_linear(int64_t in, int64_t out, Place place, std::optional<std::vector<int>> ids = {},
                                        bool print = false) {
  PlanBuilder b;
  const int x = b.input("x", {b.batch(), in});
  const int w = b.parameter("net.module.weight", {out, in}), bias = b.parameter("net.module.bias", {out});
  const int r = b.region("net", b.batch(), std::move(ids));
  const int xs = b.scatter(x, r, 0, {b.chunk(r), in});
  const int ws = b.replicate(w, r), bs = b.replicate(bias, r);
  int y = b.linear(xs, ws, bs, "net.fc", {b.chunk(r), out}, b.in_region(r));
  if (print) {
    y = b.step(Op::print, {y, xs}, "net.print", {b.chunk(r), out}, b.in_region(r),
               {{"text", "\tIn Model: input size {1} output size {0}"}});
  }
  b.output("net", b.gather(y, r, 0, {b.batch(), out}, place, "net"));
  return b;
}

}  // namespace sheaf
