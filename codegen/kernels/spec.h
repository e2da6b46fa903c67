// What a generated kernel computes, in plain C++: shapes, element types and the scalar arithmetic.
//
// Tensors are dense and row-major. Sizes are Extents: static ones are compiled in, others become run-time arguments of the
// kernel. Arithmetic comes as a callback that emits scalar MLIR ops (arith, math), so an op's scalar definition plugs in
// whatever dialect it belongs to.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/extent.h"

#include "mlir/IR/Builders.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sheaf::kernels {

using Shape = std::vector<Extent>;

struct Operand {
  DType dtype = DType::float32;
  Shape shape;
};

/// Emits arithmetic on scalars. A float32, float16 or bfloat16 element arrives (and is returned) as f32; int64, int32 and uint8
/// elements as i64, i32 and i8 (whose bits are an unsigned number), a boolean as i1. One result per output. The ops get the
/// fast-math flags reassoc, nsz and contract unless the callback sets flags itself; NaN and infinities keep their meaning.
using ScalarBody = std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder&, mlir::Location, mlir::ValueRange)>;

/// outputs[i] = body(inputs[i]...) with PyTorch's broadcasting of inputs to `shape`, the shape of all
/// outputs.
struct ElementwiseSpec {
  std::string name;         ///< becomes part of the function's name
  std::string description;  ///< one line for people
  std::vector<Operand> inputs;
  Shape shape;
  std::vector<DType> outputs;
  ScalarBody body;
  /// If not empty (then one per dimension of `shape`), the body gets, after the inputs' scalars, one i64 for each dimension d:
  /// the element's index along d plus coordinates[d]. Then, if `sizes` isn't empty, one for each of them.
  std::vector<Extent> coordinates = {}, sizes = {};
};

/// Arithmetic fused into another kernel, on its elements as they are loaded or stored: the body gets the element, then one
/// scalar per operand, and returns one. No body: nothing is fused.
struct Fusion {
  std::vector<Operand> operands;  ///< broadcast to the kernel's shape if the kernel's comment allows it
  ScalarBody body;
  /// As in ElementwiseSpec, for the kernel's shape, if the kernel's comment allows it.
  std::vector<Extent> coordinates = {}, sizes = {};
};

/// y = softmax(x) or log_softmax(x) over `dim` (negative from the end). Operands of fusions may be broadcast.
/// Buffers: x, prologue operands, epilogue operands; y (float32).
struct SoftmaxSpec {
  std::string name = "softmax";
  std::string description;
  Operand x;
  int64_t dim = -1;
  bool log = false;
  bool masked = false;  ///< rows of only -∞ become zeros (in a softmax)
  Fusion prologue, epilogue;
};

/// layer_norm over the last `normalized_dims` dimensions (weight, bias: their shape), or, with groups > 0,
/// group_norm of x [N, C, spatial...] (weight, bias: [C]); instance norm is groups = C. Biased variance, as
/// PyTorch. Operands of fusions have x's shape.
/// Buffers: x, weight?, bias?, prologue operands, epilogue operands; y (of dtype `output`).
struct NormalizationSpec {
  std::string name = "layer_norm";
  std::string description;
  Operand x;
  int64_t normalized_dims = 1;
  int64_t groups = 0;
  double eps = 1e-5;
  bool weight = true, bias = true;
  DType output = DType::float32;
  Fusion prologue, epilogue;
};

/// y[i, :] = weight[index[i], :]. Buffers: index (int64 or int32), weight [entries, width]; y, status. `status` is one int64
/// that the caller sets to 0 before a run. It stays 0 if every index was within [0, entries); otherwise it becomes ~p (bitwise
/// not, so negative), where p is the first offending position in `index` among the ranges run; rows of offending indices are
/// copies of row 0.
struct EmbeddingSpec {
  std::string name = "embedding";
  std::string description;
  DType index = DType::int64;
  Shape index_shape;
  DType weight = DType::float32;
  int64_t entries = 0, width = 0;
};

/// A copy between two strided layouts: y[out_offset + Σ i·out_stride] = x[in_offset + Σ i·in_stride] over all loop indices.
/// Loops are in the order of y's dimensions, the innermost last. Buffers: x; y.
struct CopySpec {
  struct Loop {
    Extent size, in_stride, out_stride;
  };
  std::string name = "copy";
  std::string description;
  DType dtype = DType::float32;
  std::vector<Loop> loops;
  Extent in_offset, out_offset;
};

/// Concatenation of inputs that differ only in `dim`. Buffers: the inputs; y.
struct ConcatSpec {
  std::string name = "concat";
  std::string description;
  DType dtype = DType::float32;
  std::vector<Shape> inputs;
  int64_t dim = 0;
};

enum class Reduction { mean, sum, maximum, minimum };

/// y = mean (or the reduction in `take`) of x over the `dims` dimensions from `dim` on (adjacent ones). Sums are taken in
/// float64 or in short float32 blocks; an extremum is NaN if any element is. Operands of the prologue may be broadcast to x's
/// shape, and it may have coordinates; operands of the epilogue have y's shape. Integers need a prologue that converts them to
/// floats. Buffers: x, prologue operands, epilogue operands; y.
struct MeanSpec {
  std::string name = "mean";
  std::string description;
  Operand x;
  int64_t dim = -1;
  int64_t dims = 1;
  Reduction take = Reduction::mean;
  DType output = DType::float32;
  Fusion prologue, epilogue;
};

/// y = act(x W^T + b) for small static weights [out, in]; x is [rows, in], all float32. Operands of the epilogue have y's shape
/// or are broadcast along rows ([out]). Buffers: x, weight, bias?, epilogue operands; y.
struct LinearSpec {
  std::string name = "linear";
  std::string description;
  Extent rows;
  int64_t in = 0, out = 0;
  bool bias = true;
  Fusion epilogue;
};

/// y, of `shape`, is `value` except for x at [begin, begin + size) along `dim` (negative from the end): with zeros, the dual of
/// a slice. Buffers: x; y.
struct PadSpec {
  std::string name = "pad";
  std::string description;
  DType dtype = DType::float32;
  Shape shape;
  int64_t dim = 0;
  Extent begin, size;
  double value = 0;
};

/// dweight[index[i], :] += dy[i, :], from 0, in order of i; all float32. Indices beyond the table and `padding_idx` are left
/// out (EmbeddingSpec reports the former). Buffers: index, dy [..., width]; dweight [entries, width].
struct EmbeddingBackwardSpec {
  std::string name = "embedding_backward";
  std::string description;
  DType index = DType::int64;
  Shape index_shape;
  int64_t entries = 0, width = 0;
  std::optional<int64_t> padding_idx;
};

/// y = 1 / Π(shape), a float32: the factor of a mean over that many elements. Buffers: y.
struct InverseCountSpec {
  std::string name = "inverse_count";
  std::string description;
  Shape shape;
};

/// y = `values`, all float32. Buffers: y.
struct ConstantSpec {
  std::string name = "constant";
  std::string description;
  std::vector<double> values;
};

/// Lookups along the middle dimension of x [outer, entries, inner]: y[o, j, i] = x[o, n, i], where n is index[j] or, if
/// `elementwise`, index[o, j, i]. Buffers: index, x; y, status (EmbeddingSpec's).
/// With `backward` the dual, all float32: dx[o, n, i] += dy[o, j, i], from 0, in order of j; indices beyond x are left out.
/// Buffers: index, dy; dx.
struct LookupSpec {
  std::string name = "lookup";
  std::string description;
  DType index = DType::int64, dtype = DType::float32;
  Extent outer, count, inner;
  int64_t entries = 0;
  bool elementwise = false, backward = false;
  /// Of float32 entries, with no `status`: an index that is out of range looks up NaN, and this one 0.
  std::optional<int64_t> ignored = {};
};

/// y[i] = Σ x[j] over j <= i along `dim`, or over j >= i; sums in float64. Buffers: x; y.
struct CumSumSpec {
  std::string name = "cum_sum";
  std::string description;
  Operand x;
  int64_t dim = 0;
  bool reverse = false;
};

/// torch's ctc_loss of each row, x being log probabilities [steps, rows, classes] and the targets [rows, labels]. A length or
/// label out of range makes the row's loss NaN. Buffers: x, targets, input lengths, target lengths; losses [rows], alphas
/// [rows, steps, 2 · labels + 1]. With `backward`: dy [rows], x, targets, both lengths, alphas; dx, betas
/// [rows, 2 · labels + 1], which aren't needed afterwards.
struct CtcSpec {
  std::string name = "ctc_loss";
  std::string description;
  Operand x;
  DType target = DType::int64, input_length = DType::int64, target_length = DType::int64;
  int64_t labels = 0, blank = 0;
  bool zero_infinity = false;  ///< a row that can't produce its labels counts as 0
  bool by_length = false;      ///< each row's loss is divided by its number of labels
  bool backward = false;
};

enum class Scan { product, log_sum_exp };

/// y[i] = Π x[j], or log Σ e^x[j], over j <= i along `dim`; products of int64 and int32 too. Buffers: x; y.
struct ScanSpec {
  std::string name = "cum_prod";
  std::string description;
  Operand x;
  int64_t dim = 0;
  Scan take = Scan::product;
};

/// The gradient of a ScanSpec along x, all float32 of one shape. Buffers: dy, x, y; dx.
struct ScanBackwardSpec {
  std::string name = "cum_prod_backward";
  std::string description;
  Shape shape;
  int64_t dim = 0;
  Scan take = Scan::product;
};

/// y[i] = the position, int64, of the last largest (or smallest) of the elements of x up to i along `dim`, or of the last NaN.
/// Buffers: x; y.
struct ArgScanSpec {
  std::string name = "arg_cum_max";
  std::string description;
  Operand x;
  int64_t dim = 0;
  bool minimum = false;
};

/// y = the positions, int64, of x's elements along `dim` in their order: equal ones by position, NaN as the largest.
/// Buffers: x; y.
struct ArgSortSpec {
  std::string name = "arg_sort";
  std::string description;
  Operand x;
  int64_t dim = 0;
  bool descending = false;
};

/// y = x [outer, entries, inner], except that y[o, index[o, j, i], i] = source[o, j, i] (or `value`, of float32), in order of
/// j; with `add` the source is added. Sources without an entry are left out. Buffers: index [outer, count, inner], x, source?;
/// y, status (EmbeddingSpec's).
struct ScatterSpec {
  std::string name = "scatter";
  std::string description;
  DType index = DType::int64, dtype = DType::float32;
  Extent outer, count, inner;
  int64_t entries = 0;
  bool add = false;
  std::optional<double> value;
};

/// y = the position, int64, of the first largest (or smallest) element of x along `dim`, or of the first NaN. Buffers: x; y.
struct ArgExtremumSpec {
  std::string name = "arg_max";
  std::string description;
  Operand x;
  int64_t dim = 0;
  bool minimum = false;
};

/// y[…, j, …] = Σ weights[j, k] · x[…, starts[j] + k, …] along `dim`, which has as many entries as `starts`. Entries with a
/// weight of -0 don't count, NaN or not. Buffers: x; y.
struct ResampleSpec {
  std::string name = "resample";
  std::string description;
  Operand x;
  int64_t dim = 0;
  std::vector<int64_t> starts;
  std::vector<float> weights;
};

/// A kernel as one step uses it. Two uses with equal structure share a kernel; extents and work belong to the step.
struct KernelUse {
  std::string name;             ///< the function's
  std::string description;      ///< of the first use
  bool elementwise = false;     ///< one flat loop over operands with all elements or a single one: any layout will do
  std::vector<Extent> extents;  ///< values for the kernel's `extents`, in order
  Extent work;                  ///< size of the range [begin, end)
  Extent gpu_work;              ///< the same for the GPU form, whose items may differ
  int64_t grain = 1;            ///< least part of `work` worth a thread of its own
  /// {input, output}: buffers that may be one and the same. All other buffers must not overlap an output.
  std::vector<std::pair<int, int>> in_place;
};

}  // namespace sheaf::kernels
