// The count of elements that aren't finite, run from its PTX, against a plain loop.
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cuda/own_kernel_bench.h"

namespace sheaf::cuda {
namespace {

class OwnNonfinite : public OwnKernelTest {
 protected:
  struct Case {
    DType dtype;
    size_t elements;
  };
  /// Counts tensors in which every `every`-th element isn't finite, twice: the first run must leave nothing behind.
  void check(const std::vector<Case>& cases, size_t every, size_t shift = 0) {
    std::vector<TensorSpec> specs;
    std::vector<std::string> roles;
    std::vector<Bytes> bytes;
    size_t expected = 0, number = 0;
    for (const auto& [dtype, elements] : cases) {
      specs.push_back(plain_tensor(dtype, {int64_t(elements)}));
      roles.push_back("x" + std::to_string(roles.size()));
      const uint32_t finite[] = {0x7f7fffff, 0x7f7f, 0x7bff}, infinite[] = {0xff800000, 0x7f80, 0xfc00},
                     nan[] = {0x7fc00000, 0xff81, 0x7e00};
      const size_t kind = dtype == DType::float32 ? 0 : dtype == DType::bfloat16 ? 1 : 2, size = size_of(dtype);
      Bytes tensor(elements * size);
      for (size_t i = 0; i < elements; ++i, ++number) {
        const bool counts = number % every == every - 1;
        const uint32_t word = !counts ? finite[kind] : number % 2 ? infinite[kind] : nan[kind];
        std::memcpy(&tensor[i * size], &word, size);
        expected += counts;
      }
      bytes.push_back(std::move(tensor));
    }
    const TestStep step(Op::nonfinite, roles, specs, {plain_tensor(DType::float32, {})});
    Prepared prepared = prepare_own_nonfinite(step.request(), kernels_, driver_->properties(0));
    EXPECT_EQ(launches_of(prepared.executable.get()), int(cases.size() + 191) / 192);
    EXPECT_EQ(launches_of(prepare_own_nonfinite(step.request(), nullptr, driver_->properties(0)).executable.get()),
              int(cases.size() + 191) / 192);
    for (int time = 0; time < 2; ++time)
      EXPECT_EQ(values_of<float>(run(prepared, bytes, {Bytes(4)}, nullptr, shift)[0])[0], float(expected)) << cases.size();
  }
};

TEST_F(OwnNonfinite, OfEachTypeAndSize) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (const size_t elements : {1, 3, 8, 1003, 4096, 8192, 20'001}) {
      check({{dtype, elements}}, 7);
      check({{dtype, elements}}, 1);
      check({{dtype, elements}}, 100'000);
    }
}

TEST_F(OwnNonfinite, OfTensorsOfAllTypesTogether) {
  check({{DType::float32, 5000}, {DType::float16, 9001}, {DType::float32, 0}, {DType::bfloat16, 12}, {DType::float16, 16'384}},
        5);
}

TEST_F(OwnNonfinite, OfMoreTensorsThanALaunchTakes) {
  check(std::vector<Case>(500, {DType::float16, 9}), 4);
  check(std::vector<Case>(192, {DType::float32, 3}), 2);
  check(std::vector<Case>(193, {DType::float32, 3}), 1000);
}

TEST_F(OwnNonfinite, OfTensorsThatAreAlignedToTheirElementsAlone) {
  check({{DType::float32, 5000}, {DType::float32, 3}}, 3, 4);
  check({{DType::bfloat16, 9000}, {DType::float16, 77}}, 3, 4);
}

}  // namespace
}  // namespace sheaf::cuda
