#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace sheaf::kernels {

using namespace mlir;

namespace {

/// Rows of x times the rows of W, in three ways: fully unrolled (so that a few rows take almost no time), along the outputs
/// with W transposed to local memory, or along the inputs if those are too long to unroll. On a GPU each element of y is an
/// item of the range.
class Linear {
 public:
  Linear(Emitter& e, const LinearSpec& spec) : e_(e), spec_(spec), epilogue_(e, spec.epilogue) {}
  Result<KernelUse> build();

 private:
  static constexpr int64_t unrolled_products = 64;  // W in registers
  static constexpr int64_t unrolled_inputs = 32;
  static constexpr int64_t local_products = 16384;  // W on the stack: 64 KiB
  static constexpr int64_t block = 4;               // outputs summed side by side, to keep several sums in flight

  Value product(Value a, Value b, Value sum) {
    Value product = e_.builder.create<arith::MulFOp>(e_.loc, a, b);
    return sum ? e_.builder.create<arith::AddFOp>(e_.loc, sum, product).getResult() : product;
  }
  Value x(Value row, Value k) { return e_.load(0, e_.add(e_.multiply(row, e_.constant(spec_.in)), k)); }
  Value weight(Value o, Value k) { return e_.load(1, e_.add(e_.multiply(o, e_.constant(spec_.in)), k)); }
  void store(Value row, Value o, Value sum);
  void unrolled();
  void along_outputs();
  void along_inputs();
  void by_elements();

  Emitter& e_;
  const LinearSpec& spec_;
  FusedBody epilogue_;
  std::vector<bool> per_row_;  ///< per operand of the epilogue: whether it is [rows, out] rather than [out]
  int y_ = 0;
};

void Linear::store(Value row, Value o, Value sum) {
  Value offset = e_.add(e_.multiply(row, e_.constant(spec_.out)), o);
  if (spec_.bias) sum = e_.builder.create<arith::AddFOp>(e_.loc, sum, e_.load(2, o));
  e_.store(y_, offset, epilogue_.apply(sum, [&](size_t i) { return per_row_[i] ? offset : o; }));
}

void Linear::unrolled() {
  e_.parallel(e_.begin(), e_.end(), [&](Value row) {
    for (int64_t o = 0; o < spec_.out; ++o) {
      Value sum;
      for (int64_t k = 0; k < spec_.in; ++k) sum = product(x(row, e_.constant(k)), weight(e_.constant(o), e_.constant(k)), sum);
      store(row, e_.constant(o), sum);
    }
  });
}

void Linear::along_outputs() {
  Value transposed = e_.scratch(spec_.in * spec_.out, e_.builder.getF32Type());
  Value zero = e_.constant(0), in = e_.constant(spec_.in), out = e_.constant(spec_.out);
  e_.parallel(zero, out, [&](Value o) {
    e_.parallel(zero, in, [&](Value k) { e_.write(transposed, e_.add(e_.multiply(k, out), o), weight(o, k)); });
  });
  e_.parallel(e_.begin(), e_.end(), [&](Value row) {
    e_.parallel(zero, out, [&](Value o) {
      Value sum;
      for (int64_t k = 0; k < spec_.in; ++k)
        sum = product(x(row, e_.constant(k)), e_.read(transposed, e_.add(e_.constant(k * spec_.out), o)), sum);
      store(row, o, sum);
    });
  });
}

void Linear::along_inputs() {
  Value zero = e_.constant(0), in = e_.constant(spec_.in);
  auto outputs = [&](Value row, Value first, int64_t count) {
    llvm::SmallVector<Type> types(static_cast<size_t>(count), e_.builder.getF32Type());
    auto sums = e_.reduce(Combine::sum, zero, in, types, [&](Value k) {
      Emitter::Values products;
      Value left = x(row, k);
      for (int64_t j = 0; j < count; ++j) products.push_back(product(left, weight(e_.add(first, e_.constant(j)), k), {}));
      return products;
    });
    for (int64_t j = 0; j < count; ++j) store(row, e_.add(first, e_.constant(j)), sums[static_cast<size_t>(j)]);
  };
  int64_t whole = spec_.out / block * block;
  e_.parallel(e_.begin(), e_.end(), [&](Value row) {
    e_.sequential(zero, e_.constant(whole), block, [&](Value first) { outputs(row, first, block); });
    if (whole < spec_.out) outputs(row, e_.constant(whole), spec_.out - whole);
  });
}

void Linear::by_elements() {
  const bool unrolls = spec_.in <= unrolled_inputs;
  if (!unrolls) e_.set_schedule(gpu_rows(spec_.in));
  e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
    Value row = e_.builder.create<arith::DivUIOp>(e_.loc, flat, e_.constant(spec_.out));
    Value o = e_.builder.create<arith::RemUIOp>(e_.loc, flat, e_.constant(spec_.out));
    auto term = [&](Value k, Value sum) { return product(x(row, k), weight(o, k), sum); };
    Value sum;
    for (int64_t k = 0; unrolls && k < spec_.in; ++k) sum = term(e_.constant(k), sum);
    if (!unrolls)
      sum = e_.reduce(Combine::sum, e_.constant(0), e_.constant(spec_.in), {e_.builder.getF32Type()},
                      [&](Value k) { return Emitter::Values{term(k, {})}; })[0];
    store(row, o, sum);
  });
}

Result<KernelUse> Linear::build() {
  if (spec_.in < 1 || spec_.out < 1) return Error(spec_.name + ": no inputs or no outputs");
  for (const Operand& operand : spec_.epilogue.operands) {
    per_row_.push_back(operand.shape == Shape{spec_.rows, spec_.out});
    if (!per_row_.back() && operand.shape != Shape{spec_.out})
      return Error(spec_.name + ": an operand fused into it is neither [rows, out] nor [out]");
  }
  for (int i = 0; i < (spec_.bias ? 3 : 2); ++i) e_.add_buffer(DType::float32);
  epilogue_.add_buffers();
  y_ = e_.add_buffer(DType::float32);
  e_.start();
  if (e_.for_gpu()) by_elements();
  else if (spec_.in * spec_.out <= unrolled_products) unrolled();
  else if (spec_.in <= unrolled_inputs && spec_.in * spec_.out <= local_products) along_outputs();
  else along_inputs();
  KernelUse use;
  use.work = e_.for_gpu() ? spec_.rows * spec_.out : spec_.rows;
  use.grain = grain_for(spec_.in * spec_.out / 4);
  return use;
}

}  // namespace

Result<KernelUse> build(Emitter& emitter, const LinearSpec& spec) { return Linear(emitter, spec).build(); }

}  // namespace sheaf::kernels
