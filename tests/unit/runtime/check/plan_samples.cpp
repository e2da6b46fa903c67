#include "tests/unit/runtime/check/plan_samples.h"

#include "runtime/plan/op_list.h"

namespace sheaf::samples {

int ProgramBuilder::value(const std::string& name, std::vector<Extent> shape, Place place, Value::Role role, DType dtype) {
  program_.values.push_back({name, dtype, std::move(shape), place, role, "", {}});
  return static_cast<int>(program_.values.size()) - 1;
}

int ProgramBuilder::parameter(const std::string& name, std::vector<Extent> shape, bool buffer) {
  const int index = value(name, std::move(shape), {Place::device, 0}, buffer ? Value::buffer : Value::parameter);
  program_.values.back().source = name;
  return index;
}

Step& ProgramBuilder::step(Op op, std::vector<std::pair<std::string, int>> inputs, std::vector<int> outputs, Json attributes,
                           Place place) {
  Step step;
  step.op = op;
  for (auto& [role, input] : inputs) {
    step.roles.push_back(role);
    step.inputs.push_back(input);
  }
  step.outputs = std::move(outputs);
  step.attributes = std::move(attributes);
  step.place = place;
  step.layer = "net";
  program_.steps.push_back(std::move(step));
  return program_.steps.back();
}

namespace {

Program executable_program() {
  const Place device{Place::device, 0};
  const Place region{Place::region, 0};
  const Extent chunk = Extent::symbol("chunk");
  Program program;
  program.symbols = {
      {"batch", Symbol::batch, -1, {}}, {"chunk", Symbol::chunk, 0, batch()}, {"replicas", Symbol::replicas, 0, {}}};
  ProgramBuilder builder(program);
  const int x = builder.value("x", {batch(), 5}, {}, Value::input);
  const int weight = builder.parameter("net.module.weight", {2, 5});
  const int bias = builder.parameter("net.module.bias", {2});
  const int mean = builder.parameter("net.module.mean", {2}, true);

  const int folded = builder.value("folded", {2}, device);
  Step& fold = builder.step(
      Op::kernel, {{"a", bias}, {"b", mean}}, {folded},
      {{"extents", {"2"}}, {"work", "2"}, {"grain", 1024}, {"in_place", Json::array({Json::array({0, 0})})}}, device);
  fold.kernel = "fold";
  fold.once = true;
  const int moved = builder.value("moved", {batch(), 5}, device);
  builder.step(Op::transfer, {{"x", x}}, {moved}, Json::object(), device).reason =
      "the region's inputs start on its first device";
  program.steps.back().location = {"m.json", 4, 9};
  const int part = builder.value("part", {chunk, 5}, region);
  builder.step(Op::scatter, {{"x", moved}}, {part}, {{"dim", 0}, {"region", 0}}, region);
  const int weights = builder.value("weights", {2, 5}, region);
  builder.step(Op::replicate, {{"x", weight}}, {weights}, {{"region", 0}}, region).once = true;
  const int biases = builder.value("biases", {2}, region);
  builder.step(Op::replicate, {{"x", folded}}, {biases}, {{"region", 0}}, region);
  const int y = builder.value("y", {chunk, 2}, region);
  builder
      .step(Op::linear, {{"x", part}, {"weight", weights}, {"bias", biases}}, {y},
            {{"activation", {{"kind", "leaky_relu"}, {"negative_slope", 0.01}}}}, region)
      .fused = {"net.act"};
  const int flat = builder.value("flat", {chunk * 2}, region);
  builder.step(Op::view, {{"x", y}}, {flat}, Json::object(), region);
  const int whole = builder.value("net", {batch(2)}, device);
  builder.step(Op::gather, {{"x", flat}}, {whole}, {{"dim", -1}, {"region", 0}}, device);
  const int copies = builder.value("copies", {Extent::symbol("replicas", 2)}, device);
  builder.step(Op::gather, {{"x", biases}}, {copies}, {{"dim", 0}, {"region", 0}}, device);
  const int shown = builder.value("shown", {batch(2)}, device);
  builder.step(Op::print, {{"x", whole}, {"y", copies}}, {shown}, {{"text", "size {0} é"}}, device);
  builder.output("net", shown);
  builder.output("copies", copies);
  return program;
}

Program logical_program() {
  const Place region{Place::region, 0};
  Program program;
  program.symbols = {{"batch", Symbol::batch, -1, {}}, {"chunk", Symbol::chunk, 0, batch()}};
  ProgramBuilder builder(program);
  const int x = builder.value("x", {batch(), 5}, {}, Value::input);
  const int part = builder.value("part", {Extent::symbol("chunk"), 5}, region);
  builder.step(Op::scatter, {{"x", x}}, {part}, {{"dim", 0}, {"region", 0}}, region);
  const int y = builder.value("y", {Extent::symbol("chunk"), 2}, region);
  builder.step(Op::linear, {{"x", part}}, {y}, {{"in_features", 5}, {"out_features", 2}}, region).roles.clear();
  const int net = builder.value("net", {batch(), 2});
  builder.step(Op::gather, {{"x", y}}, {net}, {{"dim", 0}, {"region", 0}});
  builder.output("net", net);
  return program;
}

}  // namespace

Plan sample_plan() {
  Plan plan;
  plan.producer = "test";
  plan.name = "sample";
  plan.regions = {{"net", std::vector<int>{1, 0}, 0, 0, {"m.json", 7, 3}}};
  plan.parameters = {
      {"net.module.weight", DType::float32, {2, 5}, false, {"tied.weight"}, Json{{"type", "normal"}, {"std", 0.01}}},
      {"net.module.bias", DType::float32, {2}, false, {}, Json::object()},
      {"net.module.mean", DType::float32, {2}, true, {}, Json::object()}};
  plan.kernels = {{"fold", "b + m", 1, true, {}}};
  plan.objects = {{"x86-64-v3", std::string("\x7f"
                                            "ELF\0\xff",
                                            6)},
                  {"x86-64-v4", "other"}};
  plan.infer = executable_program();
  plan.infer_graph = logical_program();
  plan.training = {{"loss", {{"type", "MSELoss"}}}};
  plan.ir = "module {\n}\n";
  return plan;
}

Plan training_plan() {
  using enum trained::Value;
  Plan plan = sample_plan();
  plan.training = {{"loss", {{"type", "MSELoss"}}}, {"optimizer", {{"type", "SGD"}, {"lr", 0.1}}}};
  plan.state = {
      {"net.module.weight.momentum_buffer", DType::float32, {2, 5}, false, {}, Json{{"type", "constant"}, {"value", 0.5}}}};
  const Place device{Place::device, 0}, region{Place::region, 0};
  const Extent chunk = Extent::symbol("rows"), count = Extent::symbol("replicas");
  Program& program = plan.train;
  program.symbols = {{"batch", Symbol::batch, -1, {}},
                     {"rows", Symbol::chunk, 0, batch()},
                     {"begin", Symbol::offset, 0, batch()},
                     {"replicas", Symbol::replicas, 0, {}}};
  ProgramBuilder builder(program);
  const auto kernel = [&](std::vector<int> inputs, std::vector<int> outputs, Place place, const char* extent = "2") {
    Step& step = builder.step(Op::kernel, {}, std::move(outputs), {{"extents", {extent}}, {"work", "2"}, {"grain", 1}}, place);
    step.kernel = "fold";
    for (int input : inputs) {
      step.inputs.push_back(input);
      step.roles.push_back("in" + std::to_string(input));
    }
  };
  builder.value("x", {batch(), 5}, {}, Value::input);
  builder.value("t", {batch(), 2}, device, Value::target);
  builder.value("lr", {}, {}, Value::setting);
  builder.value("step", {}, {}, Value::setting, DType::int64);
  builder.parameter("net.module.weight", {2, 5});
  builder.parameter("net.module.mean", {2}, true);
  builder.value("m", {2, 5}, device, Value::state);
  program.values.back().source = plan.state[0].name;
  builder.value("part", {chunk, 5}, region);
  builder.value("weights", {2, 5}, region);
  builder.value("y", {chunk, 2}, region);
  builder.value("whole", {batch(), 2}, device);
  builder.value("scalars", {count}, device);
  builder.value("loss", {}, device);
  builder.value("dy", {batch(), 2}, device);
  builder.value("dpart", {chunk, 2}, region);
  builder.value("one", {}, region);
  builder.value("dweights", {2, 5}, region);
  builder.value("dweight", {2, 5}, device);
  builder.value("stat", {2}, region);
  builder.value("first", {2}, device);
  builder.value("new_m", {2, 5}, device);
  builder.value("new_w", {2, 5}, device);
  builder.value("new_mean", {2}, device);
  builder.step(Op::scatter, {{"x", x}}, {part}, {{"dim", 0}, {"region", 0}}, region);
  builder.step(Op::replicate, {{"x", weight}}, {weights}, {{"region", 0}}, region);
  builder.step(Op::linear, {{"x", part}, {"weight", weights}}, {y}, Json::object(), region);
  builder.step(Op::gather, {{"x", y}}, {whole}, {{"dim", 0}, {"region", 0}}, device);
  kernel({whole}, {scalars}, device);
  kernel({whole, t}, {loss}, device);
  kernel({whole, t}, {dy}, device);
  builder.step(Op::scatter, {{"x", dy}}, {dpart}, {{"dim", 0}, {"region", 0}}, region);
  builder.step(Op::scatter, {{"x", scalars}}, {one}, {{"dim", 0}, {"region", 0}, {"scalar", true}}, region);
  kernel({part, dpart, one}, {dweights}, region, "begin + 1");
  builder.step(Op::reduce, {{"x", dweights}}, {dweight}, {{"region", 0}}, device);
  kernel({part}, {stat}, region);
  builder.step(Op::first, {{"x", stat}}, {first}, {{"region", 0}}, device);
  kernel({weight, momentum, dweight, mean, first}, {new_m, new_w, new_mean}, device);
  builder.output("loss", loss);
  for (size_t backward = 6; backward <= 10; ++backward) program.steps[backward].phase = Phase::backward;
  program.steps.back().phase = Phase::update;
  using enum Value::Purpose;
  for (int value : {part, whole, dpart, one, first}) program.values[size_t(value)].purpose = communication;
  for (int value : {weights, new_w, new_mean}) program.values[size_t(value)].purpose = parameters;
  for (int value : {dweights, dweight}) program.values[size_t(value)].purpose = gradients;
  program.values[new_m].purpose = optimizer;
  program.updates = {{"net.module.weight", new_w}, {plan.state[0].name, new_m}, {"net.module.mean", new_mean}};

  plan.train_graph = program;
  return plan;
}

Plan one_step(Op op, Operands inputs, std::vector<Shape> outputs, Json attributes) {
  Plan plan;
  plan.infer.symbols = {{"batch", Symbol::batch, -1, {}}};
  ProgramBuilder builder(plan.infer);
  std::vector<std::pair<std::string, int>> operands;
  for (auto& [role, shape] : inputs)
    operands.emplace_back(role, builder.value("in_" + role, std::move(shape), {}, Value::input));
  std::vector<int> results;
  for (size_t i = 0; i < outputs.size(); ++i)
    results.push_back(builder.value("out" + std::to_string(i), std::move(outputs[i])));
  builder.step(op, operands, results, std::move(attributes));
  builder.output("y", results.empty() ? 0 : results[0]);
  return plan;
}

}  // namespace sheaf::samples
