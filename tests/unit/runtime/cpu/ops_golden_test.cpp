// Steps whose outputs PyTorch computed (tests/golden/make_cpu_ops.py).
#include "tests/paths/source_folder.h"
#include "tests/unit/runtime/cpu/reference.h"

#include <gtest/gtest.h>

#include <fstream>

namespace sheaf::test {
namespace {

Tensor tensor_of(const Json& json) {
  return {json["dims"].get<std::vector<int64_t>>(), json["data"].get<std::vector<float>>()};
}

Json golden_cases() {
  std::ifstream file(source_file("tests/golden/cpu_ops.json"));
  return Json::parse(file, nullptr, false);
}

StepCase step_of(const Json& json, bool constant_weights, int threads) {
  StepCase c;
  c.op = *op_from_name(json["op"].get<std::string>());
  c.attributes = json["attributes"];
  c.threads = threads;
  for (const Json& operand : json["operands"]) {
    const std::string role = operand["role"];
    const bool parameter = role.rfind("weight", 0) == 0 || role.rfind("bias", 0) == 0;
    c.operands.push_back({role, tensor_of(operand), parameter && constant_weights});
  }
  for (const Json& output : json["outputs"]) c.outputs.push_back(tensor_of(output).dims);
  return c;
}

TEST(Golden, every_step_gives_what_pytorch_gives) {
  const Json golden = golden_cases();
  ASSERT_TRUE(golden.is_object() && golden["cases"].size() > 50);
  for (const Json& json : golden["cases"]) {
    SCOPED_TRACE(json["name"].get<std::string>());
    for (int threads : {1, 2}) {
      auto run = run_step(step_of(json, threads == 1, threads));
      ASSERT_TRUE(bool(run)) << to_string(run.error());
      for (size_t i = 0; i < run->outputs.size(); ++i)
        EXPECT_LT(relative_error(run->outputs[i], tensor_of(json["outputs"][i])), 1e-5)
            << "output " << i << " by " << run->implementation;
    }
  }
}

/// The loops that random steps are compared with agree with PyTorch as well.
TEST(Golden, the_reference_loops_give_what_pytorch_gives) {
  const Json golden = golden_cases();
  for (const Json& json : golden["cases"]) {
    SCOPED_TRACE(json["name"].get<std::string>());
    const std::vector<Tensor> outputs = reference(step_of(json, true, 1));
    ASSERT_EQ(outputs.size(), json["outputs"].size());
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_LT(relative_error(outputs[i], tensor_of(json["outputs"][i])), 1e-5) << "output " << i;
  }
}

}  // namespace
}  // namespace sheaf::test
