#include "codegen/kernels/builders.h"
#include "codegen/kernels/gpu_words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sheaf::kernels {

using namespace mlir;

DType dtype_of_width(DType dtype) {
  switch (size_of(dtype)) {
    case 8: return DType::int64;
    case 4: return DType::int32;
    case 2: return DType::bfloat16;
    default: return DType::uint8;
  }
}

namespace {

/// Drops loops of size 1, and merges neighbours if both layouts continue from one to the next.
std::vector<CopySpec::Loop> simplified(const std::vector<CopySpec::Loop>& loops) {
  std::vector<CopySpec::Loop> result;
  for (const CopySpec::Loop& loop : loops) {
    if (loop.size == Extent(1)) continue;
    if (!result.empty()) {
      CopySpec::Loop& outer = result.back();
      auto size = product(outer.size, loop.size);
      auto in = product(loop.size, loop.in_stride), out = product(loop.size, loop.out_stride);
      if (size && in && out && outer.in_stride == *in && outer.out_stride == *out) {
        outer = {*size, loop.in_stride, loop.out_stride};
        continue;
      }
    }
    result.push_back(loop);
  }
  if (result.empty()) result.push_back({1, 1, 1});
  return result;
}

class Copy {
 public:
  Copy(Emitter& e, const CopySpec& spec) : e_(e), spec_(spec), loops_(simplified(spec.loops)) {}
  KernelUse build();

 private:
  struct Offsets {
    Value in, out;
  };
  Offsets step(Offsets at, size_t loop, Value index) {
    return {e_.add(at.in, e_.multiply(index, e_.size(loops_[loop].in_stride))),
            e_.add(at.out, e_.multiply(index, e_.size(loops_[loop].out_stride)))};
  }
  void element(Offsets at) { e_.write(e_.buffer(1), at.out, e_.read(e_.buffer(0), at.in)); }
  /// The last loop and, with `transposed`, that one too, in tiles, over [low, high) of it.
  void inner(Offsets at, Value low, Value high);
  /// The GPU form, if the number of elements is linear: one element is an item of the range.
  std::optional<KernelUse> by_elements();
  /// Neighbouring items take tiles of the transposed loop and the last, so that both layouts' cache lines are used while they
  /// are cached.
  KernelUse by_tiles(const Extent& outer, llvm::ArrayRef<size_t> others);
  /// As many elements as an access of 16 bytes has, if squares of as many have rows that begin at multiples of them in both layouts; else 0.
  int64_t square() const;
  /// Each item of the range is such a square: its rows in x are read, and transposed in a thread's registers.
  KernelUse by_squares(int64_t side, const Extent& outer, llvm::ArrayRef<size_t> others);
  Value tile_end(Value first, Value end) {
    return e_.builder.create<arith::MinUIOp>(e_.loc, e_.add(first, e_.constant(tile)), end);
  }

  static constexpr int64_t tile = 32;  // 32 cache lines of either layout stay in the L1 cache
  static constexpr size_t none = ~size_t{0};
  Emitter& e_;
  const CopySpec& spec_;
  std::vector<CopySpec::Loop> loops_;
  size_t transposed_ = none;  ///< the loop that is contiguous in x, if that isn't the last one
};

void Copy::inner(Offsets at, Value low, Value high) {
  size_t last = loops_.size() - 1;
  if (transposed_ == none) {
    e_.parallel(low, high, [&](Value i) { element(step(at, last, i)); });
    return;
  }
  Value columns = e_.size(loops_[last].size);
  e_.sequential(low, high, tile, [&](Value first_row) {
    e_.sequential(e_.constant(0), columns, tile, [&](Value first_column) {
      e_.parallel(first_row, tile_end(first_row, high), [&](Value i) {
        Offsets row = step(at, transposed_, i);
        e_.parallel(first_column, tile_end(first_column, columns), [&](Value j) { element(step(row, last, j)); });
      });
    });
  });
}

std::optional<KernelUse> Copy::by_elements() {
  std::vector<size_t> others;
  std::vector<Loop> all, outer;
  for (size_t i = 0; i < loops_.size(); ++i) {
    all.push_back({loops_[i].size, {}});
    if (i == transposed_ || i + 1 == loops_.size()) continue;
    others.push_back(i);
    outer.push_back(all.back());
  }
  const Prefix elements = linear_prefix(all, all.size()), rest = linear_prefix(outer, outer.size());
  if (elements.loops != all.size()) return std::nullopt;
  if (transposed_ != none && loops_[transposed_].size.is_static() && loops_.back().size.is_static()) {
    const int64_t side = square();
    return side > 0 ? by_squares(side, rest.size, others) : by_tiles(rest.size, others);
  }
  e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
    Emitter::Values indices = e_.decompose(flat, all, all.size());
    Offsets at{e_.size(spec_.in_offset), e_.size(spec_.out_offset)};
    for (size_t i = 0; i < indices.size(); ++i) at = step(at, i, indices[i]);
    element(at);
  });
  KernelUse use;
  use.work = elements.size;
  return use;
}

KernelUse Copy::by_tiles(const Extent& outer, llvm::ArrayRef<size_t> others) {
  const size_t last = loops_.size() - 1;
  const int64_t rows = loops_[transposed_].size.constant, columns = loops_[last].size.constant;
  const int64_t height = std::min<int64_t>(tile, llvm::PowerOf2Ceil(rows)),
                width = std::min<int64_t>(tile, llvm::PowerOf2Ceil(columns));
  const int64_t down = llvm::divideCeil(rows, height), across = llvm::divideCeil(columns, width);
  std::vector<Loop> loops;
  for (size_t i : others) loops.push_back({loops_[i].size, {}});
  for (int64_t size : {down, across, height, width}) loops.push_back({size, {}});
  OpBuilder& b = e_.builder;
  Location loc = e_.loc;
  e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
    Emitter::Values indices = e_.decompose(flat, loops, loops.size());
    Offsets at{e_.size(spec_.in_offset), e_.size(spec_.out_offset)};
    for (size_t i = 0; i < others.size(); ++i) at = step(at, others[i], indices[i]);
    auto place = llvm::ArrayRef(indices).take_back(4);
    Value row = e_.add(e_.multiply(place[0], e_.constant(height)), place[2]);
    Value column = e_.add(e_.multiply(place[1], e_.constant(width)), place[3]);
    auto within = [&](Value index, int64_t size) -> Value {
      return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, index, e_.constant(size));
    };
    Value inside = b.create<arith::AndIOp>(loc, within(row, rows), within(column, columns));
    auto check = b.create<scf::IfOp>(loc, inside, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(check.thenBlock()->getTerminator());
    element(step(step(at, transposed_, row), last, column));
  });
  KernelUse use;
  use.work = outer * (down * across * height * width);
  return use;
}

int64_t Copy::square() const {
  const auto side = static_cast<int64_t>(VectorAccess::bytes / size_of(spec_.dtype));
  constexpr int64_t most = 8;  // of single bytes a square would fill more registers than a thread has
  const auto whole = [&](const Extent& size) { return bool(size.divided_by(side)); };
  if (side > most || !whole(spec_.in_offset) || !whole(spec_.out_offset)) return 0;
  for (size_t i = 0; i < loops_.size(); ++i) {
    const bool rows = i == transposed_, columns = i + 1 == loops_.size();
    if ((rows || columns) && !whole(loops_[i].size)) return 0;
    if (columns && !(loops_[i].out_stride == Extent(1))) return 0;
    if ((!rows && !whole(loops_[i].in_stride)) || (!columns && !whole(loops_[i].out_stride))) return 0;
  }
  return side;
}

KernelUse Copy::by_squares(int64_t side, const Extent& outer, llvm::ArrayRef<size_t> others) {
  const size_t last = loops_.size() - 1;
  const int64_t rows = loops_[transposed_].size.constant / side, columns = loops_[last].size.constant / side;
  // Of neighbouring threads, so many read along a row of x, and write along one of y.
  const int64_t down = std::min<int64_t>(4, rows & -rows), across = std::min<int64_t>(8, columns & -columns);
  std::vector<Loop> loops;
  for (size_t i : others) loops.push_back({loops_[i].size, {}});
  for (int64_t size : {rows / down, columns / across, down, across}) loops.push_back({size, {}});
  OpBuilder& b = e_.builder;
  b.getContext()->getOrLoadDialect<LLVM::LLVMDialect>();
  VectorAccess access(b, e_.loc);
  const Type type = cast<MemRefType>(e_.buffer(0).getType()).getElementType();
  e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
    Emitter::Values indices = e_.decompose(flat, loops, loops.size());
    Offsets at{e_.size(spec_.in_offset), e_.size(spec_.out_offset)};
    for (size_t i = 0; i < others.size(); ++i) at = step(at, others[i], indices[i]);
    auto place = llvm::ArrayRef(indices).take_back(4);
    auto first = [&](Value tile, int64_t of, Value within) {
      return e_.multiply(e_.add(e_.multiply(tile, e_.constant(of)), within), e_.constant(side));
    };
    at = step(step(at, transposed_, first(place[0], down, place[2])), last, first(place[1], across, place[3]));
    llvm::SmallVector<Words> read;
    for (int64_t column = 0; column < side; ++column)
      read.push_back(access.load(e_.buffer(0), step(at, last, e_.constant(column)).in, type, side));
    for (int64_t row = 0; row < side; ++row) {
      llvm::SmallVector<Value> values;
      for (const Words& words : read) values.push_back(access.element_of(words, type, static_cast<size_t>(row)));
      access.store_elements(e_.buffer(1), step(at, transposed_, e_.constant(row)).out, type, values);
    }
  });
  KernelUse use;
  use.work = outer * (rows * columns);
  return use;
}

KernelUse Copy::build() {
  size_t last = loops_.size() - 1;
  if (!(loops_[last].in_stride == Extent(1)))
    for (size_t i = 0; i < last; ++i)
      if (loops_[i].in_stride == Extent(1)) transposed_ = i;

  e_.add_buffer(dtype_of_width(spec_.dtype));
  e_.add_buffer(dtype_of_width(spec_.dtype));
  e_.start();
  if (e_.for_gpu()) {
    if (auto use = by_elements()) return *use;
    transposed_ = none;  // the CPU's tiles
    e_.set_schedule(gpu_rows(loops_[last].size));
  }
  std::vector<size_t> outer;  // loops that are neither last nor transposed
  std::vector<Loop> outer_loops;
  for (size_t i = 0; i < last; ++i) {
    if (i == transposed_) continue;
    outer.push_back(i);
    outer_loops.push_back({loops_[i].size, {}});
  }
  const Extent& inner_size = loops_[transposed_ == none ? last : transposed_].size;
  Offsets start{e_.size(spec_.in_offset), e_.size(spec_.out_offset)};
  KernelUse use;
  int64_t cost = transposed_ == none ? 1 : 2 * typical_size(loops_[last].size);
  if (outer.empty()) {
    use.work = inner_size;
    inner(start, e_.begin(), e_.end());
  } else {
    Prefix prefix = linear_prefix(outer_loops, outer.size());
    use.work = prefix.size;
    cost *= typical_size(inner_size) * typical_size(outer_loops, prefix.loops);
    e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
      Emitter::Values indices = e_.decompose(flat, outer_loops, prefix.loops);
      Offsets at = start;
      for (size_t i = 0; i < prefix.loops; ++i) at = step(at, outer[i], indices[i]);
      std::function<void(size_t, Offsets)> rest = [&](size_t level, Offsets here) {
        if (level == outer.size()) return inner(here, e_.constant(0), e_.size(inner_size));
        e_.parallel(e_.constant(0), e_.size(outer_loops[level].size),
                    [&](Value i) { rest(level + 1, step(here, outer[level], i)); });
      };
      rest(prefix.loops, at);
    });
  }
  use.grain = grain_for(cost);
  return use;
}

}  // namespace

Result<KernelUse> build(Emitter& emitter, const CopySpec& spec) { return Copy(emitter, spec).build(); }

}  // namespace sheaf::kernels
