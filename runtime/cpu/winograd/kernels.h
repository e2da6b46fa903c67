// The arithmetic of Winograd convolution F(4×4, 3×3), for one instruction set: transforms, and products of small matrices.
//
// A tile is 4×4 pixels of y; it sees 6×6 pixels of x. Along one axis, with d the six of x, w the kernel's three taps and
// m the six products (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016):
//
//   y = Aᵀ m,   m = (G w) ∘ (Bᵀ d)           and its transpose for the weight's gradient   dw = Gᵀ ((A dy) ∘ (Bᵀ d))
//
// at the points 0, ±5/8, ±3/2 and ∞, whose powers are exact in binary and keep the rounding small. In two dimensions
// each is applied along both, which makes 36 positions; at each of them the sum over channels (or images) is a product of
// matrices: 36 multiplications instead of 144.
//
// The operands of those products are f32. For the gradients of bf16 activations they may be bf16 instead, in pairs in a
// 32-bit element, as the CPU's instruction multiplies them: at twice the speed, and with an error of 1% of the result's root
// mean square (not allowed for y: rounding bf16 values themselves causes 0.2%).
//
// Operands made of f32 activations may be split, on a CPU that multiplies bf16 more than three times as fast as f32: a value x is
// the sum of two of bf16, high = bf16(x) and low = bf16(x - high), and a product is high · high + high · low + low · high, as PyTorch's
// set_float32_matmul_precision("high") describes. What is left out is 3 · 2⁻¹⁶ of a product at the most. Infinity becomes NaN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::winograd {

constexpr int tile_size = 4;    ///< pixels of y along an axis
constexpr int window_size = 6;  ///< pixels of x that they see; points of the transform
constexpr int kernel_size = 3;
constexpr int tile_pixels = tile_size * tile_size;
constexpr int positions = window_size * window_size;
constexpr int taps = kernel_size * kernel_size;

/// The rows of the 6×6 positions that a transform makes: a team of two divides a gradient's positions.
enum class Rows { all, first_half, second_half };

/// Work on y after the inverse transform, in this order.
struct Finish {
  const float* bias = nullptr;  ///< by channel; null: none
  bool add = false;             ///< adds the values already in y
  bool relu = false;            ///< y < 0 becomes y · negative_slope; NaN stays
  float negative_slope = 0;
};

/// c = a · b or c += a · b: [rows × depth] · [depth × columns], of elements that are each KernelTable::pair values along the
/// depth. Element (i, k) of a is at i·a_row + k·a_depth, and one of the two is 1; b is cut into panels of KernelTable::panel columns (the
/// last may be half one), of which element (k, j) is at k·b_depth + j. c is f32.
struct Product {
  int64_t rows, columns, depth;
  const float* a;
  int64_t a_row, a_depth;
  const float* b;
  int64_t b_panel, b_depth;
  float* c;
  int64_t c_row;
  bool accumulate;
  /// What the next product will read, to be brought into the second cache during this one; null: nothing. Of b, the first panel is
  /// enough: a product fetches its own next panel if panels are in one run.
  const void* then_a = nullptr;
  int64_t then_a_bytes = 0;
  const void* then_b = nullptr;
  int64_t then_b_bytes = 0;
};

/// A product's operands among several that are added up.
struct ProductTerm {
  const float *a, *b;
};

/// Pixels are runs of images × channels values, f32 or bf16 depending on the table; channels and columns are multiples of
/// `lanes`. A pointer to float for an operand points to 32-bit elements. Nothing needs to be aligned.
struct KernelTable {
  const char* instructions;  ///< "x86-64-v4"
  int lanes;                 ///< of f32 in a register
  int panel;                 ///< columns that a product makes at once: two registers
  int pair;                  ///< values to an operand's element: 1, f32, or 2, bf16
  /// Values of which a depth is a multiple. Split: 32, in the place of whose elements there are 16 of high parts in pairs, then 16 of low ones.
  int depth_unit;
  /// Bᵀ d B: window[36] → out[position · stride + (image · channels + channel) / pair], for y of x and dx of dy.
  void (*transform_source)(const void* const* window, float* out, int64_t stride, int64_t images, int64_t channels);
  /// The same for dweight, whose sums go along images: → out[position · stride + image / pair · channels + channel], with
  /// zeros for the images that the last unit of the depth lacks. Positions count from the first of `rows`.
  /// Only the first `channels` of an image's run of `image_stride` values.
  void (*transform_x)(const void* const* window, float* out, int64_t stride, int64_t images, int64_t channels,
                      int64_t image_stride, Rows rows);
  /// A dy Aᵀ: tile[16] → out, likewise.
  void (*transform_dy)(const void* const* tile, float* out, int64_t stride, int64_t images, int64_t channels,
                       int64_t image_stride, Rows rows);
  /// Aᵀ m A, for `images` rows of `channels`: m[position · stride + j] → tile[16].
  void (*finish_y)(const float* m, int64_t stride, void* const* tile, int64_t images, int64_t channels, const Finish& finish);
  /// G w Gᵀ, w [3, 3, in, out] → 36 matrices in panels, [out / panel, in / pair, panel], `stride` elements apart: of `out`
  /// the columns from `begin` to `end`. `gradient`: for dx of dy, in and out exchanged and the kernel turned by 180°.
  void (*transform_weight)(const void* w, float* out_, int64_t stride, int64_t in, int64_t out, bool gradient, int64_t begin,
                           int64_t end);
  /// Gᵀ m G: m[position · stride + j] → dw[tap · stride + j], for j from `begin` to `end`; m is the sum of `lots`, one behind
  /// the other.
  void (*finish_dweight)(const float* m, int64_t lots, float* dw, int64_t stride, int64_t begin, int64_t end);
  /// For products without a transform (conv_pixels.h). A matrix of a weight, [in, out], → panels as transform_weight()'s;
  /// `gradient`: transposed.
  void (*pack_weight)(const void* matrix, float* to, int64_t in, int64_t out, bool gradient, int64_t begin, int64_t end);
  /// A pixel, [images, channels], → elements along the images as transform_x()'s.
  void (*pack_images)(const void* pixel, float* to, int64_t images, int64_t channels);
  /// sums [rows, channels] → y.
  void (*finish_sums)(const float* sums, void* y, int64_t rows, int64_t channels, const Finish& finish);
  void (*multiply)(const Product& product);
  /// c = Σ a · b, or c += Σ a · b, over terms that have the product's sizes; its own a and b don't count. then_a_bytes and
  /// then_b_bytes are those of any term's operands.
  void (*multiply_terms)(const Product& product, const ProductTerm* terms, int64_t count);
  /// As pack_images(), but a channel's elements are adjacent, `row_stride` elements from those of the next one: what products take for
  /// a. Null: they take a as pack_images() makes it.
  void (*pack_rows)(const void* pixel, float* to, int64_t row_stride, int64_t images, int64_t channels);
  /// Activations, `count` in a run, → elements along it. Null: products take activations for a as they are.
  void (*pack_run)(const void* from, float* to, int64_t count);
};

enum class Element { f32, bf16 };

/// The best table that this CPU can run (as oneDNN sees it: DNNL_MAX_CPU_ISA can hide instructions); null: none.
/// `narrow`: operands may be bf16, as `element` is.
const KernelTable* kernels_of(Element element, bool narrow);

/// That of f32 activations whose operands are split; null: this CPU has none.
const KernelTable* split_kernels();

namespace v4_amx {
extern const KernelTable narrow;  ///< as v4_bf16's
extern const KernelTable split;   ///< f32 activations, operands split
}  // namespace v4_amx
namespace v4_bf16 {
extern const KernelTable narrow;  ///< bf16 activations, operands in bf16
}
namespace v4 {
extern const KernelTable f32, bf16;
}
namespace v3 {
extern const KernelTable f32, bf16;
}

}  // namespace sheaf::winograd
