// Formats: those that operations ask for and give, and reorders between them.
#include "runtime/cpu/dnnl/dnnl_format.h"
#include "runtime/cpu/ops/ops.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/machine/isa.h"
#include "runtime/plan/op_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>

namespace sheaf::test {
namespace {

using tag = dnnl::memory::format_tag;
constexpr auto f32 = dnnl::memory::data_type::f32;

TensorSpec activation(const DnnlDims& dims, tag format) {
  return dnnl_tensor(dims, DnnlDesc(dims, f32, format), plain_desc(dims), "nchw");
}

/// 64-byte aligned floats.
struct Aligned {
  explicit Aligned(size_t bytes) : storage(bytes + 64) {
    void* at = storage.data();
    size_t space = storage.size();
    data = static_cast<float*>(std::align(64, bytes, at, space));
  }
  std::vector<char> storage;
  float* data;
};

void reorder(const TensorSpec& from, const TensorSpec& to, float* source, float* target) {
  auto prepared = prepare_cpu_reorder(from, to, 1);
  ASSERT_TRUE(bool(prepared)) << to_string(prepared.error());
  Aligned scratch(prepared->scratch_bytes);
  void* buffers[] = {source, target};
  prepared->executable->run(buffers, scratch.data);
}

TEST(Formats, layouts_that_put_all_bytes_alike_are_one_format) {
  EXPECT_TRUE(activation({4, 32, 1, 1}, tag::nhwc).plain());
  EXPECT_TRUE(activation({4, 32, 1, 1}, tag::nChw16c).plain());
  EXPECT_TRUE(activation({4, 1, 5, 5}, tag::nhwc).plain());
  EXPECT_FALSE(activation({4, 30, 1, 1}, tag::nChw16c).plain()) << "padded to 32 channels";
  EXPECT_FALSE(activation({4, 32, 2, 1}, tag::nChw16c).plain());
  EXPECT_TRUE(same_format(activation({4, 16, 3, 3}, tag::nhwc), activation({4, 16, 3, 3}, tag::nChw16c)));
  EXPECT_FALSE(same_format(activation({4, 32, 3, 3}, tag::nhwc), activation({4, 32, 3, 3}, tag::nChw16c)));
  EXPECT_FALSE(same_format(activation({4, 32, 3, 3}, tag::nhwc), activation({4, 32, 3, 3}, tag::nchw)));
}

TEST(Formats, have_names_and_sizes) {
  EXPECT_EQ(activation({2, 20, 3, 3}, tag::nChw16c).format->name(), "nChw16c");
  EXPECT_EQ(activation({2, 20, 3, 3}, tag::nhwc).format->name(), "nhwc");
  EXPECT_EQ(activation({2, 20, 3, 3}, tag::nChw16c).bytes, 2u * 32 * 9 * 4) << "channels padded to 32";
}

TEST(Formats, pools_take_no_blocks_of_four_channels) {
  const auto taken = [](const DnnlDims& dims, tag format) {
    return library_desc_at_hand(activation(dims, format), plain_desc(dims));
  };
  EXPECT_EQ(taken({2, 32, 3, 3}, tag::nChw4c), DnnlDesc({2, 32, 3, 3}, f32, has_avx512() ? tag::nChw16c : tag::nChw8c));
  EXPECT_EQ(taken({2, 20, 3, 3}, tag::nChw4c), DnnlDesc({2, 20, 3, 3}, f32, tag::nhwc));
  for (const tag kept : {tag::nChw16c, tag::nChw8c, tag::nhwc, tag::nchw})
    EXPECT_EQ(taken({2, 32, 3, 3}, kept), DnnlDesc({2, 32, 3, 3}, f32, kept));
}

TEST(Formats, reorders_go_there_and_back) {
  const DnnlDims dims = {2, 20, 3, 5};
  const std::vector<TensorSpec> specs = {plain_tensor(DType::float32, dims), activation(dims, tag::nhwc),
                                         activation(dims, tag::nChw16c), activation(dims, tag::nChw8c)};
  const int64_t count = element_count(specs[0]);
  for (const TensorSpec& a : specs) {
    for (const TensorSpec& b : specs) {
      Aligned plain(specs[0].bytes), first(a.bytes), second(b.bytes), back(specs[0].bytes);
      std::iota(plain.data, plain.data + count, 1.f);
      reorder(specs[0], a, plain.data, first.data);
      reorder(a, b, first.data, second.data);
      reorder(b, specs[0], second.data, back.data);
      EXPECT_TRUE(std::equal(plain.data, plain.data + count, back.data));
    }
  }
}

TEST(Formats, a_gru_weight_comes_back_with_its_gates_in_order) {
  const DnnlDims dims = {3 * 4, 5};
  const DnnlDesc plain({1, 1, 5, 3, 4}, f32, DnnlDims{60, 60, 1, 20, 5});
  const TensorSpec packed = dnnl_tensor(dims, DnnlDesc({1, 1, 5, 3, 4}, f32, tag::ldigo), plain, "ldigo", {1, 0, 2});
  const TensorSpec flat = plain_tensor(DType::float32, dims);
  Aligned a(flat.bytes), b(packed.bytes), c(flat.bytes);
  std::iota(a.data, a.data + 60, 0.f);
  reorder(flat, packed, a.data, b.data);
  EXPECT_EQ(b.data[0], 20.f) << "the first gate is PyTorch's second, z";
  EXPECT_EQ(b.data[1], 25.f) << "and its units follow one another";
  reorder(packed, flat, b.data, c.data);
  EXPECT_TRUE(std::equal(a.data, a.data + 60, c.data));
}

struct Pool {
  Step step;
  Plan plan;
  std::vector<TensorSpec> inputs, outputs;
  Pool(const TensorSpec& x, const std::vector<int64_t>& y, Op op) {
    step.op = op;
    step.roles = {"x"};
    step.attributes = {{"kernel_size", {2, 2}}, {"stride", {2, 2}}};
    inputs = {x};
    outputs = {plain_tensor(DType::float32, y)};
  }
  Result<Prepared> prepare() { return prepare_cpu_library_op({step, plan, inputs, outputs, 1, false, {}}); }
};

TEST(Formats, pooling_keeps_the_format_that_it_is_given) {
  for (Op op : {Op::max_pool, Op::avg_pool}) {
    for (tag format : {tag::nchw, tag::nhwc, tag::nChw16c}) {
      const TensorSpec x = activation({2, 32, 8, 8}, format);
      Pool pool(x, {2, 32, 4, 4}, op);
      auto prepared = pool.prepare();
      ASSERT_TRUE(bool(prepared));
      EXPECT_TRUE(same_format(prepared->inputs[0], x)) << to_string(op) << ": no reorder wanted";
      EXPECT_TRUE(same_format(prepared->outputs[0], activation({2, 32, 4, 4}, format))) << to_string(op);
    }
  }
}

TEST(Lanes, two_threads_running_one_step_each_get_the_same_bits) {
  Step step;
  step.op = Op::conv;
  step.roles = {"x", "weight"};
  step.attributes = {{"padding_begin", {1, 1}}, {"padding_end", {1, 1}}};
  const Plan plan;
  const std::vector<TensorSpec> inputs = {plain_tensor(DType::float32, {3, 16, 9, 9}),
                                          plain_tensor(DType::float32, {24, 16, 3, 3})};
  const std::vector<TensorSpec> outputs = {plain_tensor(DType::float32, {3, 24, 9, 9})};
  std::vector<std::vector<float>> results(2);
  auto lane = [&](int index) {
    auto prepared = prepare_cpu_library_op({step, plan, inputs, outputs, 1, false, {}});
    ASSERT_TRUE(bool(prepared));
    Aligned x(prepared->inputs[0].bytes), weight(prepared->inputs[1].bytes), y(prepared->outputs[0].bytes),
        scratch(prepared->scratch_bytes);
    Aligned plain_x(inputs[0].bytes), plain_weight(inputs[1].bytes);
    for (int64_t i = 0; i < element_count(inputs[0]); ++i) plain_x.data[i] = float(i % 17) - 8;
    for (int64_t i = 0; i < element_count(inputs[1]); ++i) plain_weight.data[i] = float(i % 13) / 7 - 1;
    reorder(inputs[0], prepared->inputs[0], plain_x.data, x.data);
    reorder(inputs[1], prepared->inputs[1], plain_weight.data, weight.data);
    void* buffers[] = {x.data, weight.data, y.data};
    for (int i = 0; i < 20; ++i) prepared->executable->run(buffers, scratch.data);
    results[index].assign(y.data, y.data + prepared->outputs[0].bytes / sizeof(float));
  };
  std::thread other(lane, 1);
  lane(0);
  other.join();
  EXPECT_FALSE(results[0].empty());
  EXPECT_TRUE(results[0] == results[1]);
}

}  // namespace
}  // namespace sheaf::test
