// Each rewrite of a bound program, as text before and after it: tests/unit/runtime/bind/golden.
#include "tests/paths/source_folder.h"
#include "tests/unit/runtime/bind/fixed_device.h"
#include "tests/fixtures/plan_builder.h"

#include "runtime/bind/print.h"
#include "runtime/bind/rewrites.h"
#include "runtime/device/ranked_device.h"
#include "runtime/world/simulated_world.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace sheaf {
namespace {

const std::string kFolder = source_file("tests/unit/runtime/bind/golden/");

/// SHEAF_WRITE_GOLDEN=1 in the environment writes the files anew; read their diff before committing them.
void expect_golden(const std::string& file, const std::string& text) {
  if (std::getenv("SHEAF_WRITE_GOLDEN")) std::ofstream(kFolder + file) << text;
  std::ifstream stream(kFolder + file);
  ASSERT_TRUE(stream) << kFolder + file;
  std::stringstream expected;
  expected << stream.rdbuf();
  EXPECT_EQ(text, expected.str()) << file;
}

/// A plan bound to devices of its own.
class Bound {
 public:
  Bound(PlanBuilder builder, DeviceSet devices, int64_t batch)
      : builder_(std::move(builder)),
        devices_(std::move(devices)),
        store_(std::shared_ptr<Device>(&devices_.host(), [](Device*) {}), builder_.plan.parameters, builder_.plan.state),
        context_{builder_.plan, builder_.plan.infer, devices_, {}, store_, batch} {
    context_.kernels.resize(devices_.lanes().size());
    context_.deterministic = false;
    auto expanded = expand(context_);
    if (expanded) program_ = std::move(*expanded);
    else ADD_FAILURE() << to_string(expanded.error());
  }

  /// Applies all rewrites before `name`.
  void up_to(std::string_view name) {
    for (const Rewrite& rewrite : rewrites()) {
      if (rewrite.name == name) return;
      apply(rewrite);
    }
    ADD_FAILURE() << "no rewrite " << name;
  }
  /// It stays where it is from here on.
  void give_bytes(ByteInputs bytes) {
    bytes_ = std::move(bytes);
    context_.bytes = &bytes_;
  }
  void apply(const Rewrite& rewrite) {
    auto done = rewrite.apply(program_, context_);
    EXPECT_TRUE(done) << to_string(done.error());
  }
  std::string text() const { return print(program_, builder_.plan.infer, devices_); }
  std::string planned_text() {
    auto planned = plan_binding(context_);
    EXPECT_TRUE(planned) << to_string(planned.error());
    return planned ? print(*planned, builder_.plan.infer, devices_) : "";
  }

 private:
  PlanBuilder builder_;
  DeviceSet devices_;
  VariableStore store_;
  ByteInputs bytes_;
  BindContext context_;
  BoundProgram program_;
};

/// `claim`: what the file shows.
void expect_rewrite(const std::string& name, const std::string& claim, Bound bound, ByteInputs bytes = {}) {
  bound.give_bytes(std::move(bytes));
  bound.up_to(name);
  std::string text = claim + "\n\nbefore " + name + "\n\n" + bound.text();
  for (const Rewrite& rewrite : rewrites())
    if (rewrite.name == name) bound.apply(rewrite);
  expect_golden(name + ".txt", text + "\nafter " + name + "\n\n" + bound.text());
}

/// A generated kernel over elements.
int kernel(PlanBuilder& b, const std::string& name, std::vector<int> inputs, const std::string& value,
           std::vector<Extent> shape, Place place) {
  const int made = b.step(Op::kernel, std::move(inputs), value, std::move(shape), place, {{"work", 1}});
  b.program.steps.back().kernel = name;
  return made;
}

/// Device 0 trains `w` on x·w; an average of x is kept beside it.
PlanBuilder training() {
  PlanBuilder b;
  const Place home = PlanBuilder::device(0);
  const int x = b.input("x", {4}), rate = b.input("lr", {});
  const int w = b.parameter("w", {4}, home), mean = b.parameter("mean", {4}, home);
  const int there = b.step(Op::transfer, {x}, "x0", {4}, home), lr = b.step(Op::transfer, {rate}, "lr0", {}, home);
  const int average = kernel(b, "average_0", {mean, there}, "mean+", {4}, home);
  const int product = kernel(b, "mul_0", {there, w}, "y", {4}, home);
  const int loss = kernel(b, "sum_0", {product}, "loss", {}, home);
  const int changed = kernel(b, "sgd_0", {w, there, lr}, "w+", {4}, home);
  b.output("loss", loss);
  b.program.updates = {{"mean", average}, {"w", changed}};
  return b;
}

/// Two replicas of w·x on their own devices, whose gradients are added up on device 0. `trains`: they change w there.
PlanBuilder replicas(bool trains = false) {
  PlanBuilder b;
  const int x = b.input("x", {b.batch(), 4});
  const int w = b.parameter("w", {4}, PlanBuilder::device(0));
  const int r = b.region("net", b.batch());
  const int part = b.scatter(x, r, 0, {b.chunk(r), 4});
  const int product = kernel(b, "mul_0", {part, b.replicate(w, r)}, "y", {b.chunk(r), 4}, b.in_region(r));
  const int gradient = kernel(b, "sum_0", {product}, "dw", {4}, b.in_region(r));
  const int sum = b.step(Op::reduce, {gradient}, "dw+", {4}, PlanBuilder::device(0), {{"region", r}});
  b.output("loss", b.gather(product, r, 0, {b.batch(), 4}, PlanBuilder::device(0), "net"));
  b.output("dw", sum);
  if (trains) b.program.updates = {{"w", kernel(b, "sgd_0", {w, sum}, "w+", {4}, PlanBuilder::device(0))}};
  return b;
}

/// Two processes of a CPU device each.
DeviceSet two_ranks() {
  const auto world = std::make_shared<SimulatedWorld>(2);
  const auto device = [&](int rank) { return ranked_device(std::make_shared<FixedDevice>(0), {world, rank}); };
  const std::shared_ptr<Device> first = device(0), second = device(1);
  return DeviceSet(first, {first, second}, {"0/cpu:0", "1/cpu:0"}, 1, 0, {first, second});
}

/// Two processes of a GPU each; the second may have a CPU device instead.
DeviceSet ranks_with_gpus(bool both = true) {
  const auto world = std::make_shared<SimulatedWorld>(2);
  const auto device = [&](int rank, int memory) {
    return ranked_device(std::make_shared<FixedDevice>(memory), {world, rank}, memory);
  };
  const std::vector<std::shared_ptr<Device>> hosts = {device(0, 0), device(1, 0)};
  return DeviceSet(hosts[0], {device(0, 1), both ? device(1, 1) : hosts[1]}, {"0/gpu:0", both ? "1/gpu:0" : "1/cpu:0"}, 1, 0,
                   hosts);
}

/// x·v·w, both in shares, and w's update, on two replicas: v appears once more for its gradient.
PlanBuilder shares() {
  PlanBuilder b;
  const int x = b.input("x", {b.batch(), 4});
  const int r = b.region("net", b.batch());
  const Place in = b.in_region(r);
  const auto laid_out = [&](int value, ValueLayout::Kind kind) {
    b.program.values[static_cast<size_t>(value)].layout.kind = kind;
    return value;
  };
  const auto whole = [&](int share, const std::string& name) {
    return laid_out(b.step(Op::all_gather, {share}, name, {4}, in, {{"region", r}}), ValueLayout::replicated);
  };
  const int v = laid_out(b.parameter("v", {4}, in), ValueLayout::sharded),
            w = laid_out(b.parameter("w", {4}, in), ValueLayout::sharded);
  const int part = b.scatter(x, r, 0, {b.chunk(r), 4});
  const int y = kernel(b, "mul_0", {part, whole(v, "v forward")}, "y", {b.chunk(r), 4}, in);
  const int z = kernel(b, "mul_0", {y, whole(w, "w forward")}, "z", {b.chunk(r), 4}, in);
  b.output("loss", b.gather(z, r, 0, {b.batch(), 4}, PlanBuilder::device(0), "net"));
  const int dw = laid_out(kernel(b, "sum_0", {z}, "dw", {4}, in), ValueLayout::partial);
  const int share = laid_out(b.step(Op::reduce_scatter, {dw}, "dw+", {4}, in, {{"region", r}}), ValueLayout::sharded);
  const int dv = kernel(b, "mul_0", {z, whole(v, "v backward")}, "dv", {b.chunk(r), 4}, in);
  const int changed = laid_out(kernel(b, "sgd_0", {w, share}, "w+", {4}, in), ValueLayout::sharded);
  b.output("dx", b.gather(dv, r, 0, {b.batch(), 4}, PlanBuilder::device(0), "dx"));
  b.program.updates = {{"w", changed}};
  return b;
}

/// x·half(w)·half(v); the device changes w.
PlanBuilder conversions() {
  PlanBuilder b;
  const int x = b.input("x", {4});
  const int w = b.parameter("w", {4}, PlanBuilder::device(0)), v = b.parameter("v", {4}, PlanBuilder::device(0));
  const int there = b.step(Op::transfer, {x}, "x0", {4}, PlanBuilder::device(0));
  const int first = kernel(b, "half_0", {w}, "w'", {4}, PlanBuilder::device(0));
  const int product = kernel(b, "mul_0", {there, first}, "y", {4}, PlanBuilder::device(0));
  const int second = kernel(b, "half_0", {v}, "v'", {4}, PlanBuilder::device(0));
  const int loss = kernel(b, "mul_0", {product, second}, "loss", {4}, PlanBuilder::device(0));
  b.output("loss", loss);
  b.program.updates = {{"w", kernel(b, "sgd_0", {w, loss}, "w+", {4}, PlanBuilder::device(0))}};
  return b;
}

/// A chain of kernels on device 0.
PlanBuilder chain() {
  PlanBuilder b;
  const int x = b.input("x", {4});
  const int there = b.step(Op::transfer, {x}, "x0", {4}, PlanBuilder::device(0));
  const int first = kernel(b, "first_0", {there}, "a", {4}, PlanBuilder::device(0));
  const int second = kernel(b, "second_0", {first}, "b", {4}, PlanBuilder::device(0));
  const int third = kernel(b, "third_0", {second}, "c", {4}, PlanBuilder::device(0));
  b.output("c", third);
  return b;
}

TEST(Rewrites, OrderMessages) {
  expect_rewrite("order-messages",
                 "Of two processes: parameters in shares are brought together before the first of their readers, that for the "
                 "backward pass before the\n"
                 "gradient's shares go out; w is changed as soon as its gradient's share is there.",
                 {shares(), two_ranks(), 6});
}

TEST(Rewrites, SinkUpdates) {
  expect_rewrite("sink-updates", "On a GPU what only makes new values of variables comes last: the average, though made first.",
                 {training(), fixed_devices(0, 1), 1});
}

TEST(Rewrites, HoistFromVariables) {
  expect_rewrite("hoist-from-variables",
                 "On a GPU what reads only variables comes first, equal kernels together: both halves before the products.",
                 {conversions(), fixed_devices(0, 1), 1});
}

TEST(Rewrites, FetchBytes) {
  expect_rewrite("fetch-bytes", "The replicas' rows of a picture cross to their GPUs as bytes, which look up the numbers.",
                 {replicas(), fixed_devices(0, 2), 6}, {{"x", ByteNumbers(256)}});
}

/// A kernel that only converts an input's numbers to bf16 becomes their look-up, which rounds; one of whose operand something else reads, or that
/// computes, does not.
TEST(Rewrites, BytesAreLookedUpInPlaceOfAConversion) {
  const auto of = [](const char* pattern, bool reads_numbers) {
    PlanBuilder b;
    const int x = b.input("x", {b.batch(), 4}), w = b.parameter("w", {4}, PlanBuilder::device(0));
    const int r = b.region("net", b.batch());
    const int part = b.scatter(x, r, 0, {b.chunk(r), 4});
    const int narrow = kernel(b, "cast_0", {part}, "x16", {b.chunk(r), 4}, b.in_region(r));
    b.program.values[size_t(narrow)].dtype = DType::bfloat16;
    if (*pattern) b.program.steps.back().attributes["pattern"] = pattern;
    std::vector<int> operands = {narrow, b.replicate(w, r)};
    if (reads_numbers) operands.push_back(part);
    const int product = kernel(b, "mul_0", operands, "y", {b.chunk(r), 4}, b.in_region(r));
    b.output("y", b.gather(product, r, 0, {b.batch(), 4}, PlanBuilder::device(0), "net"));
    Bound bound(std::move(b), fixed_devices(0, 2), 6);
    bound.give_bytes({{"x", ByteNumbers(256)}});
    bound.up_to("fetch-bytes");
    for (const Rewrite& rewrite : rewrites())
      if (rewrite.name == "fetch-bytes") bound.apply(rewrite);
    return bound.text();
  };
  const auto count = [](const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const std::string text = of("cast", false);
  EXPECT_EQ(count(text, "kernel cast_0"), 0U) << text;
  EXPECT_EQ(count(text, "x@scatter0: uint8[3,4]"), 2U) << text;
  EXPECT_EQ(count(text, "x@scatter0: float32"), 0U) << text;
  EXPECT_EQ(count(text, "reorder of x16"), 2U) << text;
  for (const std::string& other : {of("cast", true), of("", false)}) {
    EXPECT_EQ(count(other, "kernel cast_0"), 2U) << other;
    EXPECT_EQ(count(other, "reorder of x@scatter0"), 2U) << other;
  }
}

/// Each rank's GPU takes its rows from its own process; that lanes for messages are on hosts is no hindrance.
TEST(Rewrites, BytesAreFetchedByEachRank) {
  Bound bound(replicas(), ranks_with_gpus(), 6);
  bound.give_bytes({{"x", ByteNumbers(256)}});
  bound.up_to("fetch-bytes");
  for (const Rewrite& rewrite : rewrites())
    if (rewrite.name == "fetch-bytes") bound.apply(rewrite);
  const std::string text = bound.text();
  for (const std::string rank : {"0", "1"}) EXPECT_NE(text.find("uint8[3,4] on " + rank + "/gpu:0"), std::string::npos) << text;
}

/// On a list with a CPU, or where a program gives an input back, data come as declared.
TEST(Rewrites, BytesAreFetchedByGpusAlone) {
  PlanBuilder back = training();
  back.output("x", 0);
  const auto host = std::make_shared<FixedDevice>(0);
  DeviceSet mixed(host, {std::make_shared<FixedDevice>(1), host}, {"gpu:0", "cpu:0"}, 1);
  Bound bounds[] = {{std::move(back), fixed_devices(0, 1), 1},
                    {replicas(), std::move(mixed), 6},
                    {replicas(), fixed_devices(2), 6},
                    {replicas(), ranks_with_gpus(false), 6}};
  for (Bound& bound : bounds) {
    bound.give_bytes({{"x", ByteNumbers(256)}});
    bound.up_to("fetch-bytes");
    const std::string before = bound.text();
    for (const Rewrite& rewrite : rewrites())
      if (rewrite.name == "fetch-bytes") bound.apply(rewrite);
    EXPECT_EQ(bound.text(), before);
  }
}

TEST(Rewrites, FetchInputs) {
  expect_rewrite("fetch-inputs", "Two small inputs of a GPU come in one transfer, before all else.",
                 {training(), fixed_devices(0, 1), 1});
}

TEST(Rewrites, FormCollectives) {
  expect_rewrite("form-collectives", "What GPUs send each other goes as a broadcast and a sum, with a member on each of them.",
                 {replicas(true), fixed_devices(0, 2), 6});
}

TEST(Rewrites, PlaceGatheredParts) {
  expect_rewrite("place-gathered-parts",
                 "The replicas' results are made in their slices of the whole: the copies are left out.",
                 {replicas(), fixed_devices(2), 6});
}

TEST(Rewrites, PlaceOutputs) {
  expect_rewrite("place-outputs", "An output in host memory is made in the caller's buffer, with all that lies in it.",
                 {replicas(), fixed_devices(2), 6});
}

TEST(Rewrites, PlaceUpdates) {
  expect_rewrite(
      "place-updates",
      "The new w lies over the old one, which its own kernel reads last, after the check of the loss; the average is\n"
      "made before that check, and copied when all is well.",
      {training(), fixed_devices(1), 1});
}

TEST(Rewrites, PlaceOverInputs) {
  expect_rewrite("place-over-inputs", "A chain of kernels works in one buffer: each result lies over the operand that dies.",
                 {chain(), fixed_devices(0, 1), 1});
}

TEST(Rewrites, HaveATestEach) {
  std::set<std::string_view> names;
  for (const Rewrite& rewrite : rewrites()) {
    EXPECT_TRUE(std::ifstream(kFolder + std::string(rewrite.name) + ".txt")) << rewrite.name;
    EXPECT_TRUE(names.insert(rewrite.name).second) << rewrite.name;
  }
}

TEST(Expansion, ReordersWhatAnOperationWantsOtherwise) {
  PlanBuilder b;
  const Json window = {
      {"stride", {1, 1}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}, {"dilation", {1, 1}}, {"groups", 1}};
  const int x = b.input("x", {1, 2, 4, 4}), w = b.input("w", {3, 2, 3, 3});
  b.output("y", b.step(Op::conv, {x, w}, "conv", {1, 3, 4, 4}, b.host(), window, {"x", "weight"}));
  expect_golden("reorder.txt", "The weight that a caller gives is reordered for the convolution, which wants it blocked.\n\n" +
                                   Bound(std::move(b), fixed_devices(1), 1).text());
}

TEST(PlannedBinding, ShowsWaitsLanesAndArenas) {
  expect_golden("planned.txt", "Two replicas on GPUs, with what their lanes wait for and where tensors lie in the arenas.\n\n" +
                                   Bound(replicas(), fixed_devices(0, 2), 6).planned_text());
}

}  // namespace
}  // namespace sheaf
