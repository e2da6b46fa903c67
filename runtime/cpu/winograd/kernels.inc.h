// Body of the tables of kernels.h, compiled once for each instruction set with `lanes` and `most_rows` given (kernels_v3.cpp,
// kernels_v4.cpp). Those files are compiled with instructions that the CPU at hand may lack: so everything here has
// internal linkage, and no header is included whose inline functions another file might be given by the linker.
#include "runtime/cpu/winograd/kernels.h"

namespace sheaf::winograd {
namespace {

typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));
typedef uint32_t Bits __attribute__((vector_size(lanes * sizeof(uint32_t))));
typedef uint16_t Halves __attribute__((vector_size(lanes * sizeof(uint16_t))));
typedef float LooseVector __attribute__((vector_size(lanes * sizeof(float)), aligned(sizeof(float))));
typedef uint16_t LooseHalves __attribute__((vector_size(lanes * sizeof(uint16_t)), aligned(sizeof(uint16_t))));

struct F32 {
  using Value = float;
  static Vector load(const Value* from) { return *reinterpret_cast<const LooseVector*>(from); }
  static void store(Value* to, Vector values) { *reinterpret_cast<LooseVector*>(to) = values; }
  static float widen(Value value) { return value; }
};

/// Rounded to nearest, ties to even; NaN stays one.
struct Bf16 {
  using Value = uint16_t;
  static Vector load(const Value* from) {
    const Halves halves = *reinterpret_cast<const LooseHalves*>(from);
    return reinterpret_cast<Vector>(__builtin_convertvector(halves, Bits) << 16);
  }
  static void store(Value* to, Vector values) {
    const Bits bits = reinterpret_cast<Bits>(values);
    const Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40;
    const Bits nan = reinterpret_cast<Bits>(values != values);
    *reinterpret_cast<LooseHalves*>(to) = __builtin_convertvector((nan & quiet) | (~nan & rounded), Halves);
  }
  static float widen(Value value) {
    const uint32_t bits = uint32_t(value) << 16;
    return __builtin_bit_cast(float, bits);
  }
};

// The points ±a and ±b; with M(p) = p (p² - a²)(p² - b²) = p⁵ - sum p³ + product p.
constexpr float a = 0.625f, b = 1.5f, a2 = a * a, b2 = b * b, a3 = a2 * a, b3 = b2 * b, sum = a2 + b2, product = a2 * b2;
constexpr float scale_a = 1 / (2 * a2 * (a2 - b2)), scale_b = 1 / (2 * b2 * (b2 - a2)), scale_0 = 1 / product;

/// Along an axis of `From` values, `stride` vectors apart, to the `To` of the result, in place or not.
/// Bᵀ.
struct TransformX {
  static constexpr int from = window_size, to = window_size;
  static inline __attribute__((always_inline)) void apply(const Vector* d, Vector* t) {
    t[0] = product * d[0] - sum * d[2] + d[4];
    const Vector even_a = d[4] - b2 * d[2], odd_a = a * (d[3] - b2 * d[1]);
    t[1] = even_a + odd_a;
    t[2] = even_a - odd_a;
    const Vector even_b = d[4] - a2 * d[2], odd_b = b * (d[3] - a2 * d[1]);
    t[3] = even_b + odd_b;
    t[4] = even_b - odd_b;
    t[5] = product * d[1] - sum * d[3] + d[5];
  }
};

/// Aᵀ.
struct FinishY {
  static constexpr int from = window_size, to = tile_size;
  static inline __attribute__((always_inline)) void apply(const Vector* m, Vector* y) {
    const Vector even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
    y[0] = m[0] + even_a + even_b;
    y[1] = a * odd_a + b * odd_b;
    y[2] = a2 * even_a + b2 * even_b;
    y[3] = a3 * odd_a + b3 * odd_b + m[5];
  }
};

/// A.
struct TransformDy {
  static constexpr int from = tile_size, to = window_size;
  static inline __attribute__((always_inline)) void apply(const Vector* y, Vector* t) {
    t[0] = y[0];
    const Vector even_a = y[0] + a2 * y[2], odd_a = a * y[1] + a3 * y[3];
    t[1] = even_a + odd_a;
    t[2] = even_a - odd_a;
    const Vector even_b = y[0] + b2 * y[2], odd_b = b * y[1] + b3 * y[3];
    t[3] = even_b + odd_b;
    t[4] = even_b - odd_b;
    t[5] = y[3];
  }
};

/// G.
struct TransformWeight {
  static constexpr int from = kernel_size, to = window_size;
  static inline __attribute__((always_inline)) void apply(const Vector* w, Vector* t) {
    t[0] = w[0] * scale_0;
    const Vector even_a = (w[0] + a2 * w[2]) * scale_a, odd_a = w[1] * (a * scale_a);
    t[1] = even_a + odd_a;
    t[2] = even_a - odd_a;
    const Vector even_b = (w[0] + b2 * w[2]) * scale_b, odd_b = w[1] * (b * scale_b);
    t[3] = even_b + odd_b;
    t[4] = even_b - odd_b;
    t[5] = w[2];
  }
};

/// Gᵀ.
struct FinishDweight {
  static constexpr int from = window_size, to = kernel_size;
  static inline __attribute__((always_inline)) void apply(const Vector* m, Vector* w) {
    const Vector even_a = (m[1] + m[2]) * scale_a, odd_a = (m[1] - m[2]) * scale_a;
    const Vector even_b = (m[3] + m[4]) * scale_b, odd_b = (m[3] - m[4]) * scale_b;
    w[0] = m[0] * scale_0 + even_a + even_b;
    w[1] = a * odd_a + b * odd_b;
    w[2] = a2 * even_a + b2 * even_b + m[5];
  }
};

/// Both ways: in(row, column) of from × from gives out(row, column, value) of to × to, of which rows `begin` to `end`.
template <typename Transform, int begin, int end, typename In, typename Out>
inline __attribute__((always_inline)) void transform(In in, Out out) {
  Vector half[Transform::to][Transform::from];
#pragma clang loop unroll(full)
  for (int column = 0; column < Transform::from; ++column) {
    Vector values[Transform::from], result[Transform::to];
    for (int row = 0; row < Transform::from; ++row) values[row] = in(row, column);
    Transform::apply(values, result);
    for (int row = begin; row < end; ++row) half[row][column] = result[row];
  }
#pragma clang loop unroll(full)
  for (int row = begin; row < end; ++row) {
    Vector result[Transform::to];
    Transform::apply(half[row], result);
    for (int column = 0; column < Transform::to; ++column) out(row, column, result[column]);
  }
}

template <typename Type, typename Transform, int begin, int end>
void transform_pixels(const void* const* pixels, float* out, int64_t stride, int64_t length) {
  for (int64_t j = 0; j < length; j += lanes) {
    transform<Transform, begin, end>(
        [&](int row, int column) {
          return Type::load(static_cast<const typename Type::Value*>(pixels[row * Transform::from + column]) + j);
        },
        [&](int row, int column, Vector value) {
          F32::store(out + ((row - begin) * window_size + column) * stride + j, value);
        });
  }
}

template <typename Type, typename Transform>
void transform_rows(const void* const* pixels, float* out, int64_t stride, int64_t length, Rows rows) {
  constexpr int half = window_size / 2;
  switch (rows) {
    case Rows::all:
      return transform_pixels<Type, Transform, 0, window_size>(pixels, out, stride, length);
    case Rows::first_half:
      return transform_pixels<Type, Transform, 0, half>(pixels, out, stride, length);
    case Rows::second_half:
      return transform_pixels<Type, Transform, half, window_size>(pixels, out, stride, length);
  }
}

template <typename Type, bool add, bool relu>
void finish_rows(const float* m, int64_t stride, void* const* tile, int64_t images, int64_t channels, const Finish& finish) {
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t channel = 0; channel < channels; channel += lanes) {
      const int64_t j = image * channels + channel;
      const Vector bias = finish.bias ? F32::load(finish.bias + channel) : Vector{};
      transform<FinishY, 0, tile_size>(
          [&](int row, int column) { return F32::load(m + (row * window_size + column) * stride + j); },
          [&](int row, int column, Vector value) {
            auto* y = static_cast<typename Type::Value*>(tile[row * tile_size + column]) + j;
            value += bias;
            if (add) value += Type::load(y);
            if (relu) value = value < 0 ? value * finish.negative_slope : value;
            Type::store(y, value);
          });
    }
  }
}

template <typename Type>
void finish_y(const float* m, int64_t stride, void* const* tile, int64_t images, int64_t channels, const Finish& finish) {
  if (finish.add) {
    if (finish.relu) return finish_rows<Type, true, true>(m, stride, tile, images, channels, finish);
    return finish_rows<Type, true, false>(m, stride, tile, images, channels, finish);
  }
  if (finish.relu) return finish_rows<Type, false, true>(m, stride, tile, images, channels, finish);
  return finish_rows<Type, false, false>(m, stride, tile, images, channels, finish);
}

template <typename Type>
void transform_weight(const void* weight, float* to, int64_t stride, int64_t in, int64_t out, bool gradient, int64_t begin,
                      int64_t end) {
  constexpr int panel = 2 * lanes;
  const auto* w = static_cast<const typename Type::Value*>(weight);
  const int64_t depth = gradient ? out : in;
  for (int64_t column = begin; column < end; column += lanes) {
    for (int64_t k = 0; k < depth; ++k) {
      float* at = to + column / panel * panel * depth + k * panel + column % panel;
      transform<TransformWeight, 0, window_size>(
          [&](int row, int tap) {
            if (!gradient) return Type::load(w + ((row * kernel_size + tap) * in + k) * out + column);
            Vector values;
            for (int lane = 0; lane < lanes; ++lane)
              values[lane] = Type::widen(w[((taps - 1 - row * kernel_size - tap) * in + column + lane) * out + k]);
            return values;
          },
          [&](int row, int point, Vector value) { F32::store(at + (row * window_size + point) * stride, value); });
    }
  }
}

void finish_dweight(const float* m, float* dw, int64_t stride, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; j += lanes) {
    transform<FinishDweight, 0, kernel_size>(
        [&](int row, int column) { return F32::load(m + (row * window_size + column) * stride + j); },
        [&](int row, int column, Vector value) { F32::store(dw + (row * kernel_size + column) * stride + j, value); });
  }
}

/// `rows` × `columns` registers of c: a's elements are broadcast, b's rows are read along.
template <int rows, int columns>
void multiply_block(const Product& p, const float* a_at, const float* b_at, float* c_at) {
  Vector sums[rows][columns];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) sums[i][j] = p.accumulate ? F32::load(c_at + i * p.c_row + j * lanes) : Vector{};
  for (int64_t k = 0; k < p.depth; ++k, a_at += p.a_depth, b_at += p.b_depth) {
    Vector along[columns];
    for (int j = 0; j < columns; ++j) along[j] = F32::load(b_at + j * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) sums[i][j] += a_at[i * p.a_row] * along[j];
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) F32::store(c_at + i * p.c_row + j * lanes, sums[i][j]);
}

using Block = void (*)(const Product&, const float*, const float*, float*);

/// blocks[r - 1] makes r rows.
template <int columns, typename Sequence>
struct Blocks;
template <int... index>
struct Indices {};
template <int count, int... index>
struct Count : Count<count - 1, count - 1, index...> {};
template <int... index>
struct Count<0, index...> {
  using type = Indices<index...>;
};
template <int columns, int... index>
struct Blocks<columns, Indices<index...>> {
  static constexpr Block of[] = {multiply_block<index + 1, columns>...};
};

void multiply(const Product& p) {
  constexpr int panel = 2 * lanes;
  using Heights = typename Count<most_rows>::type;
  const int64_t blocks = (p.rows + most_rows - 1) / most_rows;
  for (int64_t column = 0; column < p.columns; column += panel) {
    const Block* of = p.columns - column >= panel ? Blocks<2, Heights>::of : Blocks<1, Heights>::of;
    const float* b_at = p.b + column / panel * p.b_panel;
    int64_t row = 0;
    for (int64_t left = blocks; left > 0; --left) {
      const int64_t height = (p.rows - row) / left;  // of equal heights: a short one would wait for its own sums
      of[height - 1](p, p.a + row * p.a_row, b_at, p.c + row * p.c_row + column);
      row += height;
    }
  }
}

template <typename Type>
constexpr KernelTable table(const char* instructions) {
  return {instructions,    lanes,
          2 * lanes,       transform_rows<Type, TransformX>,
          transform_rows<Type, TransformDy>, finish_y<Type>,
          transform_weight<Type>, finish_dweight,
          multiply};
}

}  // namespace
}  // namespace sheaf::winograd
