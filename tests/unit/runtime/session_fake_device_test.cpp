// The engine against a backend that the CPU isn't: memory of its own, and queues that work later, on threads of their
// own. What a CUDA backend will ask of binding and execution, on any machine.
#include "fake_device.h"
#include "plan_builder.h"

#include "runtime/bind/binding.h"
#include "runtime/sheaf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

/// fc1 on the host, fc2 in a region, fc3 on device 1, the result on the host.
PlanBuilder mixed_plan() {
  PlanBuilder b;
  const int x = b.input("x", {b.batch(), 6});
  const int w = b.parameter("w", {6, 6}), bias = b.parameter("b", {6});
  const int first = b.linear(x, w, bias, "fc1", {b.batch(), 6}, b.host());
  const int r = b.region("net", b.batch());
  const int part = b.scatter(first, r, 0, {b.chunk(r), 6});
  const int y = b.linear(part, b.replicate(w, r), b.replicate(bias, r), "fc2", {b.chunk(r), 6}, b.in_region(r));
  const int whole = b.gather(y, r, 0, {b.batch(), 6}, b.device(1), "net");
  const int w1 = b.step("transfer", {w}, "w1", {6, 6}, b.device(1)), b1 = b.step("transfer", {bias}, "b1", {6}, b.device(1));
  const int last = b.linear(whole, w1, b1, "fc3", {b.batch(), 6}, b.device(1));
  b.output("y", b.step("transfer", {last}, "y", {b.batch(), 6}, b.host()));
  b.output("net", whole);  // an output that lies on a device
  return b;
}

std::vector<std::vector<float>> run(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t batch) {
  auto session = model.bind(devices, batch);
  if (!session) {
    ADD_FAILURE() << to_string(session.error());
    return {};
  }
  std::vector<float> x(static_cast<size_t>(batch) * 6 + 1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6;
  std::vector<std::vector<float>> outputs(2, std::vector<float>(static_cast<size_t>(batch) * 6 + 1, -7.F));
  const void* in[] = {x.data()};
  void* out[] = {outputs[0].data(), outputs[1].data()};
  for (int i = 0; i < 10; ++i) {
    auto ok = session->run(in, out);
    if (!ok) ADD_FAILURE() << to_string(ok.error());
  }
  return outputs;
}

TEST(SessionFakeDevice, CopiesAndWaitsWhereMemoryIsNotShared) {
  auto model = Model::from_plan(mixed_plan().plan);
  ASSERT_TRUE(model && model->initialise_parameters(2));
  const auto host = std::make_shared<const DeviceSet>(*open_devices({}));
  auto one = std::make_shared<FakeDevice>(1), two = std::make_shared<FakeDevice>(2);
  using Entries = std::vector<std::shared_ptr<Device>>;
  for (const Entries& entries : {Entries{one, two}, Entries{one, one}, Entries{cpu_device(), two}, Entries{two, cpu_device(), one}}) {
    std::vector<std::string> names;
    for (size_t i = 0; i < entries.size(); ++i) names.push_back("fake:" + std::to_string(i));
    const auto devices = std::make_shared<const DeviceSet>(cpu_device(), entries, names, 2);
    for (int64_t batch : {0, 1, 2, 3, 17}) {
      const auto expected = run(*model, host, batch), actual = run(*model, devices, batch);
      for (size_t o = 0; o < 2; ++o) {
        for (size_t i = 0; i < expected[o].size(); ++i) ASSERT_NEAR(actual[o][i], expected[o][i], 2e-4) << batch << " rows";
      }
    }
  }
  model = Error("the model's constants hold the devices' memory, so it goes first");
}

TEST(SessionFakeDevice, FailuresNameTheReplicaAndTheDevice) {
  auto model = Model::from_plan(mixed_plan().plan);
  ASSERT_TRUE(model && model->initialise_parameters(2));
  auto good = std::make_shared<FakeDevice>(1), bad = std::make_shared<FakeDevice>(2);
  bad->fail_layer = "fc2";
  const std::vector<std::shared_ptr<Device>> entries = {good, bad, bad};
  const auto devices = std::make_shared<const DeviceSet>(cpu_device(), entries, std::vector<std::string>{"a:0", "b:0", "b:1"}, 2);
  auto session = model->bind(devices, 9);
  ASSERT_FALSE(session);
  EXPECT_THAT(to_string(session.error()), HasSubstr("replica 1 on device b:0: not today"));
  bad->fail_layer.clear();
  session = model->bind(devices, 9);
  ASSERT_TRUE(session);
  std::vector<float> x(54), y(54), z(54);
  const void* in[] = {x.data()};
  void* out[] = {y.data(), z.data()};
  EXPECT_TRUE(session->run(in, out));
  FakeQueue::failing = true;
  auto ran = session->run(in, out);
  FakeQueue::failing = false;
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message(), HasSubstr("fell off the bus"));
  EXPECT_TRUE(session->run(in, out)) << "and the next run is a fresh one";
  session = Error("sessions go before devices");
  model = Error("models too");
}

}  // namespace
}  // namespace sheaf
