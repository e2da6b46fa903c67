// A training program written by hand, and a device that has the few operations that it is made of: least squares with
// momentum, y = x·w, in DataParallel. Its numbers are small integers and halves, so that sums have no rounding.
#pragma once

#include "plan_builder.h"

#include "runtime/bind/device_set.h"
#include "runtime/cpu/cpu_device.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>

namespace sheaf {

/// The CPU with operations of the tests' own, each a function of its buffers (inputs, then outputs) and their sizes.
class TrainingDevice : public Device {
 public:
  using Function = std::function<void(void* const* buffers, const std::vector<int64_t>& counts)>;

  const DeviceInfo& info() const override { return cpu_device()->info(); }
  int memory_space() const override { return 0; }
  Result<void*> allocate(size_t bytes) override { return cpu_device()->allocate(bytes); }
  void release(void* memory) override { cpu_device()->release(memory); }
  Result<std::unique_ptr<Queue>> open_queue(int threads) override { return cpu_device()->open_queue(threads); }
  Result<std::unique_ptr<Event>> make_event() override { return cpu_device()->make_event(); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override { return cpu_device()->load_kernels(plan); }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int threads) override {
    return cpu_device()->prepare_reorder(from, to, threads);
  }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    const auto own = functions().find(request.step.op);
    if (own == functions().end()) return cpu_device()->prepare(request);
    for (const bool constant : request.constant) constants_seen |= constant;
    Prepared prepared;
    std::vector<int64_t> counts;
    for (const auto* specs : {&request.inputs, &request.outputs}) {
      for (const TensorSpec& spec : *specs) {
        counts.push_back(element_count(spec));
        (specs == &request.inputs ? prepared.inputs : prepared.outputs).push_back(plain_tensor(spec.dtype, spec.dims));
      }
    }
    if (request.step.attributes.contains("in_place")) prepared.in_place = {{0, 0}};
    prepared.can_fail = request.step.op == "refuse";
    prepared.executable = std::make_unique<Own>(own->second, std::move(counts), prepared.can_fail);
    return prepared;
  }
  bool constants_seen = false;  ///< an operation was told that an input never changes
  static inline std::atomic<int> ones{0};  ///< how often "one" ran

 private:
  struct Own : Executable {
    Own(Function function, std::vector<int64_t> counts, bool can_fail)
        : function(std::move(function)), counts(std::move(counts)), can_fail(can_fail) {}
    void run(void* const* buffers, void*) override {
      function(buffers, counts);
      bad = can_fail && static_cast<float*>(buffers[counts.size() - 1])[0] != 0;
    }
    bool failed() const override { return bad; }
    std::string failure() const override { return bad ? "it doesn't like what it sees" : ""; }
    Function function;
    std::vector<int64_t> counts;
    bool can_fail, bad = false;
  };

  static const std::map<std::string, Function>& functions();
};

inline const std::map<std::string, TrainingDevice::Function>& TrainingDevice::functions() {
  using Counts = const std::vector<int64_t>&;
  const auto f = [](void* const* buffers, size_t i) { return static_cast<float*>(buffers[i]); };
  static const std::map<std::string, Function> all = {
      // x [rows, n], w [n] → y [rows]
      {"rows_times", [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[2]; ++i) {
           f(b, 2)[i] = 0;
           for (int64_t j = 0; j < c[1]; ++j) f(b, 2)[i] += f(b, 0)[i * c[1] + j] * f(b, 1)[j];
         }
       }},
      // x [rows, n], dy [rows] → dw [n]; its name makes it one whose sum over no rows is zero
      {"rows_times_backward", [=](void* const* b, Counts c) {
         std::memset(b[2], 0, static_cast<size_t>(c[2]) * 4);
         for (int64_t i = 0; i < c[1]; ++i) {
           for (int64_t j = 0; j < c[2]; ++j) f(b, 2)[j] += f(b, 0)[i * c[2] + j] * f(b, 1)[i];
         }
       }},
      // y, t → loss, the sum of the squares of the differences
      {"squares", [=](void* const* b, Counts c) {
         float sum = 0;
         for (int64_t i = 0; i < c[0]; ++i) sum += (f(b, 0)[i] - f(b, 1)[i]) * (f(b, 0)[i] - f(b, 1)[i]);
         f(b, 2)[0] = sum;
       }},
      // a, b → a - b
      {"minus", [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[2]; ++i) f(b, 2)[i] = f(b, 0)[i] - f(b, 1)[i];
       }},
      // m, g → m / 2 + g
      {"halve_and_add", [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[2]; ++i) f(b, 2)[i] = f(b, 0)[i] / 2 + f(b, 1)[i];
       }},
      // w, m, lr → w - lr m
      {"descend", [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[3]; ++i) f(b, 3)[i] = f(b, 0)[i] - f(b, 2)[0] * f(b, 1)[i];
       }},
      // The same, but it makes use of its output before it is done with its inputs.
      {"descend_apart", [=](void* const* b, Counts c) {
         for (int64_t i = 0; i < c[3]; ++i) f(b, 3)[i] = f(b, 2)[0] * f(b, 1)[i];
         for (int64_t i = 0; i < c[3]; ++i) f(b, 3)[i] = f(b, 0)[i] - f(b, 3)[i];
       }},
      // x [rows, n] → its first row, or zeros
      {"first_row", [=](void* const* b, Counts c) {
         for (int64_t j = 0; j < c[1]; ++j) f(b, 1)[j] = j < c[0] ? f(b, 0)[j] : 0;
       }},
      // w → w, read late
      {"slow_copy", [=](void* const* b, Counts c) {
         std::this_thread::sleep_for(std::chrono::microseconds(400));
         std::memcpy(b[1], b[0], static_cast<size_t>(c[1]) * 4);
       }},
      // x → 1 where any element is above 900, else 0; fails there
      {"refuse", [=](void* const* b, Counts c) {
         std::this_thread::sleep_for(std::chrono::milliseconds(2));
         f(b, 1)[0] = 0;
         for (int64_t i = 0; i < c[0]; ++i) {
           if (f(b, 0)[i] > 900) f(b, 1)[0] = 1;
         }
       }},
      {"one", [=](void* const* b, Counts) {
         f(b, 0)[0] = 1;
         ++ones;
       }},
  };
  return all;
}

struct TrainingOptions {
  bool in_place = true;       ///< the optimiser's steps may write over what they replace
  bool slow_reader = false;   ///< each replica still reads w when all else is done; "kept" becomes what they read
  bool reads_after = false;   ///< a step reads w after the step that makes its new value
  bool swap = false;          ///< "a" and "b" change places, and "c" takes b's old value
  bool refuse = false;        ///< a step of each replica fails at inputs above 900
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
    const int first = b.step("first", {rows}, "first", {3}, home, {{"region", r}});
    const int new_row = b.step("halve_and_add", {row, first}, "new_row", {3}, home, in_place);
    b.step("one", {}, "one", {1}, inside);
    b.program.steps.back().once = true;
    const int ys = b.step("rows_times", {xs, ws}, "net.fc", {b.chunk(r)}, inside);
    const int y = b.gather(ys, r, 0, {b.batch()}, home, "y");
    const int there = b.step("transfer", {t}, "t.moved", {b.batch()}, home);
    b.output("loss", b.step("squares", {y, there}, "loss", {}, home));
    const int dy = b.step("minus", {y, there}, "dy", {b.batch()}, home);
    const int dys = b.scatter(dy, r, 0, {b.chunk(r)});
    const int dws = b.step("rows_times_backward", {xs, dys}, "dws", {3}, inside);
    const int dw = b.step("reduce", {dws}, "dw", {3}, home, {{"region", r}});
    if (options.refuse) b.step("refuse", {xs}, "picky", {1}, inside);
    const int late = options.slow_reader ? b.step("slow_copy", {ws}, "late", {3}, inside) : -1;
    const int new_m = b.step("halve_and_add", {m, dw}, "new_m", {3}, home, in_place);
    const int rate = b.step("transfer", {lr}, "lr.moved", {}, home);
    const int new_w = b.step(options.in_place ? "descend" : "descend_apart", {w, new_m, rate}, "new_w", {3}, home, in_place);
    b.program.updates = {{"row", new_row}, {"w", new_w}, {"w.m", new_m}};
    if (options.slow_reader) {
      weight("kept", Value::buffer);
      b.program.updates.push_back({"kept", b.step("reduce", {late}, "kept.sum", {3}, home, {{"region", r}})});
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

/// What training does to the numbers, in plain C++. `devices` replicas.
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

/// The device list "host, entries" of `count` entries that share the host's memory; none: host-only mode.
inline std::shared_ptr<const DeviceSet> training_devices(
    int count, std::shared_ptr<Device> device = std::make_shared<TrainingDevice>()) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
  return std::make_shared<const DeviceSet>(device, std::vector<std::shared_ptr<Device>>(size_t(count), device), names, 1);
}

}  // namespace sheaf
