// Generated kernels in a whole program: extents of each replica's chunk, operands in place, failures while running.
#include "backend.h"
#include "runtime/plan/op_list.h"

#include "runtime/bind/binding.h"
#include "sheaf/model.h"
#include "tests/fixtures/plan_builder.h"
#include "tests/fixtures/variable_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

class KernelsInASession : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string kind = GetParam() == "cpu:0" ? "cpu" : "cuda";
  /// A list with the backend's devices for X.
  std::shared_ptr<const DeviceSet> list(std::string names) {
    for (size_t at = 0; (at = names.find('X', at)) != names.npos; at += kind.size()) names.replace(at, 1, kind);
    return opener.list(names);
  }
  Opener opener{GetParam()};
};

int kernel(PlanBuilder& b, const std::string& name, std::vector<int> inputs, std::vector<Extent> shape, Place place,
           const std::string& work, Json extents, Json more = Json::object()) {
  Json attributes = {{"extents", extents}, {"work", work}, {"grain", 4}};
  attributes.update(more);
  const int y = b.step(Op::kernel, inputs, name + std::to_string(b.program.steps.size()), std::move(shape), place, attributes);
  b.program.steps.back().kernel = name;
  return y;
}

TEST_P(KernelsInASession, ExtentsAreOfTheReplicasChunkAndInPlaceKeepsWhatIsStillRead) {
  // z = double_and_add(x) + x, where double_and_add may write over x's copy only if x isn't read again.
  PlanBuilder b;
  add_kernels(b.plan);
  const int x = b.input("x", {b.batch(), 3});
  const int r = b.region("net", b.batch());
  const int part = b.scatter(x, r, 0, {b.chunk(r), 3});
  const Json in_place = {{"in_place", Json::array({Json::array({0, 0})})}};
  const std::vector<Extent> shape = {b.chunk(r), 3};
  const int first = kernel(b, "double_and_add", {part}, shape, b.in_region(r), "3*c0", Json::array({"c0"}), in_place);
  const int second = kernel(b, "double_and_add", {first}, shape, b.in_region(r), "3*c0", Json::array({1}), in_place);
  const int sum = kernel(b, "add", {second, first}, shape, b.in_region(r), "3*c0", Json::array(), in_place);
  const int all = kernel(b, "add", {sum, part}, shape, b.in_region(r), "3*c0", Json::array(), in_place);
  b.output("z", b.gather(all, r, 0, {b.batch(), 3}, b.device(0), "z"));
  auto model = Model::from_plan(b.plan);
  ASSERT_TRUE(model);
  for (const char* devices : {"cpu", "X:0,X:0", "X:0,cpu:1,X:0,cpu:0"}) {
    auto session = model->bind(list(devices), 10);
    ASSERT_TRUE(session) << to_string(session.error());
    const size_t lanes = session->binding().info().lanes.size();
    const int64_t chunk = lanes == 1 ? 10 : lanes == 3 ? 5 : 3;
    std::vector<float> values(30), z(30);
    for (size_t i = 0; i < 30; ++i) values[i] = static_cast<float>(i);
    const std::vector<float> before = values;
    const void* in[] = {values.data()};
    void* out[] = {z.data()};
    for (int run = 0; run < 3; ++run) ASSERT_TRUE(session->run(in, out));
    EXPECT_EQ(values, before) << "the caller's input is never written";
    for (size_t i = 0; i < 30; ++i) {
      const auto row = static_cast<int64_t>(i / 3);
      const auto rows = static_cast<float>(std::min(chunk, 10 - row / chunk * chunk));
      const float f = 2 * values[i] + rows;
      EXPECT_EQ(z[i], 2 * f + 1 + f + values[i]) << devices << " " << i;
    }
  }
}

TEST_P(KernelsInASession, TheLowestFailingReplicaIsReported) {
  PlanBuilder b;
  add_kernels(b.plan);
  const int x = b.input("x", {b.batch()}, DType::int64);
  const int table = b.parameter("table", {5, 1});
  const int r = b.region("net", b.batch());
  const int part = b.scatter(x, r, 0, {b.chunk(r)});
  b.program.values[size_t(part)].dtype = DType::int64;
  const int local = b.replicate(table, r);
  const int y = kernel(b, "lookup", {part, local}, {b.chunk(r), 1}, b.in_region(r), "c0", Json::array({5}), {{"status", 1}});
  const int status = b.value("status", {1}, b.in_region(r), DType::int64);
  b.program.steps.back().outputs.push_back(status);
  b.program.steps.back().layer = "net.embedding";
  b.output("y", b.gather(y, r, 0, {b.batch(), 1}, b.device(0), "y"));
  auto model = Model::from_plan(b.plan);
  ASSERT_TRUE(model && model->initialise_parameters(1));
  auto session = model->bind(list("cpu:2,X:0,X:0"), 6);
  ASSERT_TRUE(session) << to_string(session.error());
  std::vector<int64_t> indices = {0, 1, 2, 9, 4, -3};
  std::vector<float> values(6);
  const void* in[] = {indices.data()};
  void* out[] = {values.data()};
  for (int i = 0; i < 20; ++i) {
    auto ran = session->run(in, out);
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().message(),
                HasSubstr("replica 1 on device " + kind + ":0: layer 'net.embedding': index 9 (element 1"));
  }
  indices = {0, 1, 2, 3, 4, 0};
  ASSERT_TRUE(session->run(in, out));
  const auto weights = parameter_values(*model, 0);
  EXPECT_EQ(values, (std::vector<float>{weights[0], weights[1], weights[2], weights[3], weights[4], weights[0]}));
  auto host = model->bind("cpu", 6);
  indices[5] = 5;
  auto ran = host->run(in, out);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message().rfind("layer 'net.embedding': index 5", 0), 0U) << "no replicas on the host alone";
}

INSTANTIATE_TEST_SUITE_P(Backends, KernelsInASession, ::testing::ValuesIn(backends()));

}  // namespace
}  // namespace sheaf
