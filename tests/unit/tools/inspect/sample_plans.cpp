#include "tests/unit/tools/inspect/sample_plans.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

namespace sheaf::samples {

namespace {

const Extent kBatch = Extent::symbol("batch");
const Place kHost{};
const Place kRegion{Place::region, 0};

Place on_device(int index) { return {Place::device, index}; }

/// Appends values and steps to a plan's logical program; each call returns the index of the value it makes.
class Writer {
 public:
  explicit Writer(std::string name) {
    plan.name = std::move(name);
    program.symbols.push_back({"batch", Symbol::batch, -1, {}});
  }
  int value(const std::string& name, std::vector<Extent> shape, Place place, Value::Role role = Value::temporary,
            DType dtype = DType::float32) {
    program.values.push_back({name, dtype, std::move(shape), place, role, role == Value::temporary ? "" : name, {}});
    return static_cast<int>(program.values.size()) - 1;
  }
  int step(const std::string& op, const std::string& layer, std::vector<int> inputs, std::vector<Extent> shape, Place place,
           const std::string& reason = {}, Json attributes = Json::object()) {
    const int output = value(layer + ":" + op, std::move(shape), place);
    Step step;
    const auto known = op_from_name(op);
    if (known && moves(*known)) step.op = *known;
    else step.type = op;
    step.layer = layer;
    step.inputs = std::move(inputs);
    step.roles.assign(step.inputs.size(), "x");
    step.outputs = {output};
    step.place = place;
    step.reason = reason;
    step.attributes = std::move(attributes);
    program.steps.push_back(std::move(step));
    return output;
  }
  /// A parameter on device `owner` and its copies on the region's replicas.
  int replicated(const std::string& name, std::vector<Extent> shape, int owner = 0) {
    const int parameter = value(name, shape, on_device(owner), Value::parameter);
    const int copy = step("replicate", "net", {parameter}, std::move(shape), kRegion,
                          "each replica needs the module's parameters", {{"region", 0}});
    program.values[static_cast<size_t>(copy)].name = name + ":copy";
    return copy;
  }
  Plan finish(const std::string& output_name, int output) {
    program.outputs.push_back({output_name, output});
    plan.infer_graph = std::move(program);
    return std::move(plan);
  }
  Plan plan;
  Program program;
};

/// The layers of one replica of ResNet-18, in the model's order.
class ResNet {
 public:
  ResNet(Writer& writer, const Extent& chunk) : w_(writer), chunk_(chunk) {}

  int conv(const std::string& layer, int x, int in, int out, int kernel, int size) {
    const int weight = w_.replicated(layer + ".weight", {out, in, kernel, kernel});
    const int bias = w_.replicated(layer + ".bias", {out});
    return w_.step("conv2d", layer, {x, weight, bias}, {chunk_, out, size, size}, kRegion, "",
                   {{"kernel_size", {kernel, kernel}}});
  }
  int norm(const std::string& layer, int x, int channels, int size) {
    std::vector<int> inputs = {x};
    for (const char* own : {".weight", ".bias", ".running_mean", ".running_var"})
      inputs.push_back(w_.replicated(layer + own, {channels}));
    return w_.step("batchnorm2d", layer, std::move(inputs), {chunk_, channels, size, size}, kRegion);
  }
  int relu(const std::string& layer, int x, int channels, int size) {
    return w_.step("relu", layer, {x}, {chunk_, channels, size, size}, kRegion);
  }
  int block(const std::string& layer, int x, int in, int out, int size) {
    int y = conv(layer + ".conv1", x, in, out, 3, size);
    y = relu(layer + ".relu1", norm(layer + ".bn1", y, out, size), out, size);
    y = norm(layer + ".bn2", conv(layer + ".conv2", y, out, out, 3, size), out, size);
    if (in != out) x = conv(layer + ".conv3", x, in, out, 1, size);
    y = w_.step("add", layer + ".add", {y, x}, {chunk_, out, size, size}, kRegion);
    return relu(layer + ".relu2", y, out, size);
  }

 private:
  Writer& w_;
  Extent chunk_;
};

}  // namespace

Plan tutorial() {
  Writer w("tutorial");
  w.plan.regions.push_back({"model", {}, {}, 0, {"tutorial.json", 15, 5}});
  w.program.symbols.push_back({"chunk0", Symbol::chunk, 0, kBatch});
  const Extent chunk = Extent::symbol("chunk0");
  const int x = w.value("x", {kBatch, 5}, kHost, Value::input);
  const int part = w.step("scatter", "model", {x}, {chunk, 5}, kRegion, "DataParallel splits x along dimension 0",
                          {{"dim", 0}, {"region", 0}});
  const int weight = w.replicated("model.module.fc.weight", {2, 5});
  const int bias = w.replicated("model.module.fc.bias", {2});
  for (Step& step : w.program.steps)
    if (step.op == Op::replicate) step.layer = "model";
  const int fc = w.step("linear", "model.module.fc", {part, weight, bias}, {chunk, 2}, kRegion);
  const int printed = w.step("print", "model.module.print", {fc, part}, {chunk, 2}, kRegion);
  const int whole = w.step("gather", "model", {printed}, {kBatch, 2}, on_device(0),
                           "DataParallel joins the replicas' outputs on its output device", {{"dim", 0}, {"region", 0}});
  const int at_host = w.step("transfer", "outside", {whole}, {kBatch, 2}, kHost, "outputs are read on the host");
  return w.finish("outside", w.step("print", "outside", {at_host, x}, {kBatch, 2}, kHost));
}

Plan training() {
  Writer w("tutorial");
  w.plan.regions.push_back({"model", std::nullopt, std::nullopt, 0, {"tutorial.json", 8, 3}});
  const Extent chunk = Extent::symbol("chunk0");
  w.program.symbols.push_back({"chunk0", Symbol::chunk, 0, kBatch});
  w.program.symbols.push_back({"replicas0", Symbol::replicas, 0, {}});
  const int x = w.value("x", {kBatch, 5}, kHost, Value::input), t = w.value("t", {kBatch, 2}, kHost, Value::target);
  const int lr = w.value("lr", {}, kHost, Value::setting);
  const int weight = w.value("fc.weight", {2, 5}, on_device(0), Value::parameter);
  const int momentum = w.value("fc.weight.momentum_buffer", {2, 5}, on_device(0), Value::state);
  const Json region = {{"region", 0}}, rows = {{"dim", 0}, {"region", 0}};
  const int part = w.step("scatter", "model", {x}, {chunk, 5}, kRegion, "DataParallel splits x along dimension 0", rows);
  const int copy =
      w.step("replicate", "model", {weight}, {2, 5}, kRegion, "each replica needs the module's parameters", region);
  const int mean = w.step("mean", "model.module.seen", {part}, {5}, kRegion);
  const int y = w.step("linear", "model.module.fc", {part, copy}, {chunk, 2}, kRegion);
  const int whole = w.step("gather", "model", {y}, {kBatch, 2}, on_device(0), "DataParallel gathers its results", rows);
  const int there = w.step("transfer", "loss", {t}, {kBatch, 2}, on_device(0), "the loss is on cpu:0");
  const int loss = w.step("mse_loss", "loss", {whole, there}, {}, on_device(0));
  const int dy = w.step("mse_loss_backward", "loss", {whole, there}, {kBatch, 2}, on_device(0));
  const int dpart =
      w.step("scatter", "model.module.fc", {dy}, {chunk, 2}, kRegion, "each replica gets its rows' gradients", rows);
  const int partial = w.step("linear_backward_weight", "model.module.fc", {part, dpart}, {2, 5}, kRegion);
  const int sum =
      w.step("reduce", "fc.weight", {partial}, {2, 5}, on_device(0), "the replicas' gradients are added up", region);
  const int seen = w.step("first", "model.module.seen", {mean}, {5}, on_device(0), "replica 0's statistics are kept", region);
  const int rate = w.step("transfer", "optimizer", {lr}, {}, on_device(0), "a setting of the step");
  w.step("sgd", "fc.weight", {weight, momentum, sum, rate, seen}, {2, 5}, on_device(0));
  w.program.outputs.push_back({"loss", loss});
  w.plan.train_graph = std::move(w.program);
  return std::move(w.plan);
}

Plan distributed() {
  Writer w("distributed_model");
  const int x = w.value("x", {kBatch}, kHost, Value::input, DType::int64);
  const int table = w.value("embedding.weight", {1000, 10}, kHost, Value::parameter);
  const int rows = w.step("embedding", "embedding", {x, table}, {kBatch, 10}, kHost, "the model places it on the host");
  const int moved =
      w.step("transfer", "rnn", {rows}, {kBatch, 10}, on_device(0), "rnn is on device 0, its input comes from the host");
  const int weight = w.value("rnn.weight", {10, 10}, on_device(0), Value::parameter);
  const int bias = w.value("rnn.bias", {10}, on_device(0), Value::parameter);
  const int y = w.step("linear", "rnn", {moved, weight, bias}, {kBatch, 10}, on_device(0), "the model places it on device 0");
  return w.finish("rnn", y);
}

Plan explicit_devices(const std::string& name) {
  Writer w("explicit " + name);
  w.plan.regions.push_back({name, std::vector<int>{1, 0}, 2, -1, {"explicit.json", 7, 3}});
  w.program.symbols.push_back({"chunk0", Symbol::chunk, 0, kBatch * 2});
  const Extent chunk = Extent::symbol("chunk0");
  const int x = w.value("x", {3, kBatch * 2}, on_device(0), Value::input);
  const int part = w.step("scatter", name, {x}, {3, chunk}, kRegion, "split for " + name, {{"dim", -1}, {"region", 0}});
  const int y = w.step("relu", name + ".module", {part}, {3, chunk}, kRegion);
  const int whole =
      w.step("gather", name, {y}, {3, kBatch * 2}, on_device(2), "joined for " + name, {{"dim", -1}, {"region", 0}});
  return w.finish(name, whole);
}

Plan resnet18() {
  Writer w("resnet18");
  w.plan.regions.push_back({"net", {}, {}, 0, {"resnet18.json", 60, 14}});
  w.program.symbols.push_back({"chunk0", Symbol::chunk, 0, kBatch});
  const Extent chunk = Extent::symbol("chunk0");
  const int x = w.value("x", {kBatch, 1, 28, 28}, kHost, Value::input);
  int y = w.step("scatter", "net", {x}, {chunk, 1, 28, 28}, kRegion, "DataParallel splits x along dimension 0",
                 {{"dim", 0}, {"region", 0}});
  ResNet net(w, chunk);
  y = net.conv("net.module.0", y, 1, 64, 3, 28);
  y = net.relu("net.module.2", net.norm("net.module.1", y, 64, 28), 64, 28);
  int in = 64, size = 28;
  for (int stage = 1; stage <= 4; ++stage) {
    const int out = 32 << stage;
    if (stage > 1) size = (size + 1) / 2;
    for (int i = 0; i < 2; ++i, in = out)
      y = net.block("net.module.resnet_block" + std::to_string(stage) + "." + std::to_string(i), y, in, out, size);
  }
  y = w.step("adaptiveavgpool2d", "net.module.global_avg_pool", {y}, {chunk, 512, 1, 1}, kRegion);
  y = w.step("flatten", "net.module.fc.0", {y}, {chunk, 512}, kRegion);
  const int weight = w.replicated("net.module.fc.1.weight", {10, 512});
  const int bias = w.replicated("net.module.fc.1.bias", {10});
  y = w.step("linear", "net.module.fc.1", {y, weight, bias}, {chunk, 10}, kRegion);
  y = w.step("gather", "net", {y}, {kBatch, 10}, on_device(0), "DataParallel joins the replicas' outputs on its output device",
             {{"dim", 0}, {"region", 0}});
  return w.finish("net", y);
}

}  // namespace sheaf::samples
