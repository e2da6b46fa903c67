// Speeds of generated kernels on one thread, and how long compiling them takes. Prints a table; not a test.
#include "codegen/kernels/kernel_module.h"
#include "ir/Scalars.h"
#include "runtime/machine/memory_object.h"
#include "runtime/plan/plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/MLIRContext.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

using namespace sheaf;
using namespace sheaf::kernels;
namespace scalar = sheaf::ir::scalar;
using mlir::OpBuilder;
using mlir::ValueRange;
using Values = llvm::SmallVector<mlir::Value>;
using Clock = std::chrono::steady_clock;
using KernelFunction = void (*)(void* const*, const int64_t*, int64_t, int64_t);

namespace {

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Row {
  std::string what;
  KernelUse use;
  std::vector<size_t> bytes;  ///< of each buffer
  int64_t n;                  ///< value of the symbol, if there is one
  double elements;            ///< per call, for the rate
};

Operand f32(Shape shape) { return {DType::float32, std::move(shape)}; }

template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
    std::exit(1);
  }
  return *std::move(result);
}

void add_activation(KernelModule& module, std::vector<Row>& rows, const char* name,
                    mlir::Value (*emit)(OpBuilder&, mlir::Location, mlir::Value)) {
  for (int64_t n : {int64_t{1} << 15, int64_t{1} << 24}) {
    auto use =
        must(module.add_elementwise({name,
                                     "",
                                     {f32({Extent::symbol("n")})},
                                     {Extent::symbol("n")},
                                     {DType::float32},
                                     [=](OpBuilder& b, mlir::Location l, ValueRange v) { return Values{emit(b, l, v[0])}; }}));
    rows.push_back(
        {std::string(name) + (n > 1 << 20 ? " 64 MB" : " 128 KB"), use, {size_t(n) * 4, size_t(n) * 4}, n, double(n)});
  }
}

std::vector<Row> rows_of(KernelModule& module) {
  std::vector<Row> rows;
  add_activation(module, rows, "relu", scalar::relu);
  add_activation(module, rows, "silu", scalar::silu);
  add_activation(module, rows, "gelu", scalar::gelu);
  add_activation(module, rows, "tanh", scalar::tanh);
  auto batch_norm =
      must(module.add_elementwise({"batch_norm",
                                   "",
                                   {f32({32, 64, 28, 28}), f32({64, 1, 1}), f32({64, 1, 1}), f32({64, 1, 1}), f32({64, 1, 1})},
                                   {32, 64, 28, 28},
                                   {DType::float32},
                                   [](OpBuilder& b, mlir::Location l, ValueRange v) {
                                     return Values{scalar::batch_norm(b, l, v[0], v[1], v[2], v[3], v[4], 1e-5)};
                                   }}));
  size_t images = 32 * 64 * 784;
  rows.push_back({"batch norm 32x64x28x28", batch_norm, {images * 4, 256, 256, 256, 256, images * 4}, 0, double(images)});
  auto softmax = [&](const char* what, Shape shape, int64_t dim, size_t count) {
    SoftmaxSpec spec;
    spec.x.shape = shape;
    spec.dim = dim;
    rows.push_back({what, must(module.add_softmax(spec)), {count * 4, count * 4}, 0, double(count)});
  };
  softmax("softmax rows 1000x512", {1000, 512}, 1, 512000);
  softmax("softmax rows 5000x10", {5000, 10}, 1, 50000);
  softmax("softmax columns 8x64x1024", {8, 64, 1024}, 1, 8 * 64 * 1024);
  NormalizationSpec norm;
  norm.x.shape = {1000, 512};
  rows.push_back({"layer norm 1000x512", must(module.add_normalization(norm)), {2048000, 2048, 2048, 2048000}, 0, 512000});
  EmbeddingSpec embedding;
  embedding.index_shape = {10000};
  embedding.entries = 1000;
  embedding.width = 64;
  rows.push_back({"embedding 10000 of 1000x64", must(module.add_embedding(embedding)), {80000, 256000, 2560000, 8}, 0, 640000});
  auto permute = [&](const char* what, Shape shape, std::vector<int64_t> dims, size_t count) {
    auto use = must(module.add_copy(must(permute_copy(DType::float32, shape, dims))));
    rows.push_back({what, use, {count * 4, count * 4}, 0, double(count)});
  };
  permute("transpose 1024x1024", {1024, 1024}, {1, 0}, 1 << 20);
  permute("NCHW to NHWC 32x64x28x28", {32, 64, 28, 28}, {0, 2, 3, 1}, images);
  permute("heads 8x128x8x64", {8, 128, 8, 64}, {0, 2, 1, 3}, 8 * 128 * 512);
  MeanSpec mean;
  mean.x.shape = {2048, 49};
  rows.push_back({"mean rows 2048x49", must(module.add_mean(mean)), {2048 * 49 * 4, 8192}, 0, 2048 * 49});
  mean.x.shape = {8, 64, 1024};
  mean.dim = 1;
  rows.push_back({"mean columns 8x64x1024", must(module.add_mean(mean)), {8 * 65536 * 4, 32768}, 0, 8 * 65536});
  auto linear = [&](int64_t in, int64_t out, int64_t batch) {
    LinearSpec spec;
    spec.rows = Extent::symbol("n");
    spec.in = in;
    spec.out = out;
    rows.push_back(
        {"linear " + std::to_string(in) + " to " + std::to_string(out) + ", " + std::to_string(batch) + " rows (FLOP)",
         must(module.add_linear(spec)),
         {size_t(in * batch * 4), size_t(in * out * 4), size_t(out * 4), size_t(out * batch * 4)},
         batch,
         2.0 * double(in * out * batch)});
  };
  linear(5, 2, 30);
  linear(16, 100, 256);
  linear(128, 10, 256);
  linear(4, 128, 32);
  return rows;
}

void measure(const MemoryObject& object, const Row& row) {
  std::vector<void*> buffers;
  for (size_t bytes : row.bytes) {
    buffers.push_back(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    std::memset(buffers.back(), 0, bytes);
  }
  auto value_of = [&](const std::string&) { return &row.n; };
  int64_t work = must(evaluate(row.use.work, value_of));
  std::vector<int64_t> extents(row.use.extents.size(), row.n);
  auto kernel = reinterpret_cast<KernelFunction>(object.symbol(row.use.name));
  double best = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    int calls = 0;
    auto start = Clock::now();
    while (seconds_since(start) < 0.01)
      for (int i = 0; i < 1 + 1000000 / int(row.elements + 1); ++i, ++calls) kernel(buffers.data(), extents.data(), 0, work);
    best = std::min(best, seconds_since(start) / calls);
  }
  double bytes = 0;
  for (size_t b : row.bytes) bytes += double(b);
  std::printf("%-40s %12.1f ns %8.2f G elements/s %8.1f GB/s\n", row.what.c_str(), best * 1e9, row.elements / best / 1e9,
              bytes / best / 1e9);
  for (void* buffer : buffers) std::free(buffer);
}

void compile_time(const char* what, const std::function<void(KernelModule&)>& add) {
  auto start = Clock::now();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  KernelModule module(context);
  add(module);
  double added = seconds_since(start);
  auto objects = must(module.compile());
  std::printf("%-40s %8.1f ms (adding %.1f), %zu kernels, %zu + %zu bytes\n", what, seconds_since(start) * 1e3, added * 1e3,
              module.kernels().size(), objects[0].second.size(), objects[1].second.size());
}

}  // namespace

int main() {
  compile_time("compile linear 5 to 2 (first, cold)", [](KernelModule& module) {
    LinearSpec spec;
    spec.rows = Extent::symbol("n");
    spec.in = 5;
    spec.out = 2;
    must(module.add_linear(spec));
  });
  compile_time("compile add + relu", [](KernelModule& module) {
    Shape n{Extent::symbol("n")};
    must(module.add_elementwise(
        {"add_relu", "", {f32(n), f32(n)}, n, {DType::float32}, [](OpBuilder& b, mlir::Location l, ValueRange v) {
           return Values{scalar::relu(b, l, b.create<mlir::arith::AddFOp>(l, v[0], v[1]))};
         }}));
  });
  compile_time("compile softmax rows", [](KernelModule& module) {
    SoftmaxSpec spec;
    spec.x.shape = {Extent::symbol("n"), 512};
    must(module.add_softmax(spec));
  });
  compile_time("compile layer norm", [](KernelModule& module) {
    NormalizationSpec spec;
    spec.x.shape = {Extent::symbol("n"), 512};
    must(module.add_normalization(spec));
  });
  std::vector<Row> rows;
  compile_time("compile all below", [&](KernelModule& module) { rows = rows_of(module); });

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  KernelModule module(context);
  rows = rows_of(module);
  for (auto& [level, bytes] : must(module.compile())) {
    if (level == kPtxObject || (level == "x86-64-v4" && !__builtin_cpu_supports("x86-64-v4"))) continue;
    std::printf("\n%s\n", level.c_str());
    const MemoryObject object = must(MemoryObject::load(bytes));
    for (const Row& row : rows) measure(object, row);
  }
}
