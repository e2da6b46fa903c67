// Body of the tables of kernels.h, compiled once for each instruction set with `lanes` and `most_rows` given (kernels_v3.cpp,
// kernels_v4.cpp, kernels_v4_bf16.cpp). Those files are compiled with instructions that this CPU may lack: so
// everything here has internal linkage, and no header is included whose inline functions another file might be given by
// the linker.
//
// Type: how activations and weights are stored (F32, Bf16). Operand: what products multiply (Singles; pairs of bf16; two parts, bf16
// each, of f32).
#pragma once

#include "runtime/cpu/winograd/axes.inc.h"
#include "runtime/cpu/winograd/multiply.inc.h"

namespace sheaf::winograd {
namespace {

/// Along both axes: in(row, column) of from × from gives out(row, column, value) of to × to, of which rows `begin` to
/// `end`.
template <typename Transform, typename V, int begin, int end, typename In, typename Out>
SHEAF_INLINE void transform(In in, Out out) {
  V half[Transform::to][Transform::from];
#pragma clang loop unroll(full)
  for (int column = 0; column < Transform::from; ++column) {
    V values[Transform::from], result[Transform::to];
    for (int row = 0; row < Transform::from; ++row) values[row] = in(row, column);
    Transform::apply(values, result);
    for (int row = begin; row < end; ++row) half[row][column] = result[row];
  }
#pragma clang loop unroll(full)
  for (int row = begin; row < end; ++row) {
    V result[Transform::to];
    Transform::apply(half[row], result);
    for (int column = 0; column < Transform::to; ++column) out(row, column, result[column]);
  }
}

template <typename Type, typename Operand>
void transform_source(const void* const* window, float* out, int64_t stride, int64_t images, int64_t channels) {
  for (int64_t j = 0; j < images * channels; j += lanes) {
    transform<TransformX, Vector, 0, window_size>(
        [&](int row, int column) {
          return Type::load(static_cast<const typename Type::Value*>(window[row * window_size + column]) + j);
        },
        [&](int row, int column, Vector value) {
          Operand::store_along(out + (row * window_size + column) * stride, j, value);
        });
  }
}

/// `count` values along the depth, and the zeros behind them.
template <typename Operand>
SHEAF_INLINE int64_t whole_units(int64_t count) {
  return (count + Operand::depth_unit - 1) / Operand::depth_unit * Operand::depth_unit;
}

template <typename Type, typename Operand, typename Transform, int begin, int end>
void transform_depth(const void* const* pixels, float* out, int64_t stride, int64_t images, int64_t channels,
                     int64_t image_stride) {
  for (int64_t image = 0; image < whole_units<Operand>(images); image += Operand::step) {
    for (int64_t channel = 0; channel < channels; channel += lanes) {
      transform<Transform, typename Operand::Depth, begin, end>(
          [&](int row, int column) {
            const auto* pixel = static_cast<const typename Type::Value*>(pixels[row * Transform::from + column]);
            return Operand::gather([&](int64_t next) { return Type::load(pixel + (image + next) * image_stride + channel); },
                                   images - image);
          },
          [&](int row, int column, typename Operand::Depth value) {
            float* const at = out + ((row - begin) * window_size + column) * stride;
            Operand::store(at + channel, image / Operand::step, channels, value);
          });
    }
  }
}

template <typename Type, typename Operand, typename Transform>
void transform_rows(const void* const* pixels, float* out, int64_t stride, int64_t images, int64_t channels,
                    int64_t image_stride, Rows rows) {
  constexpr int half = window_size / 2;
  switch (rows) {
    case Rows::all:
      return transform_depth<Type, Operand, Transform, 0, window_size>(pixels, out, stride, images, channels, image_stride);
    case Rows::first_half:
      return transform_depth<Type, Operand, Transform, 0, half>(pixels, out, stride, images, channels, image_stride);
    case Rows::second_half:
      return transform_depth<Type, Operand, Transform, half, window_size>(pixels, out, stride, images, channels, image_stride);
  }
}

/// What is stored at `y`.
template <typename Type, bool add, bool relu>
SHEAF_INLINE Vector finished(Vector value, Vector bias, const typename Type::Value* y, const Finish& finish) {
  value += bias;
  if (add) value += Type::load(y);
  if (!relu) return value;
  // -∞ · 0 would be NaN.
  const Vector negative = finish.negative_slope == 0 ? Vector{} : value * finish.negative_slope;
  return value < 0 ? negative : value;
}

template <typename Type, bool add, bool relu>
void finish_rows(const float* m, int64_t stride, void* const* tile, int64_t images, int64_t channels, const Finish& finish) {
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t channel = 0; channel < channels; channel += lanes) {
      const int64_t j = image * channels + channel;
      const Vector bias = finish.bias ? F32::load(finish.bias + channel) : Vector{};
      transform<FinishY, Vector, 0, tile_size>(
          [&](int row, int column) { return F32::load(m + (row * window_size + column) * stride + j); },
          [&](int row, int column, Vector value) {
            auto* y = static_cast<typename Type::Value*>(tile[row * tile_size + column]) + j;
            Type::store(y, finished<Type, add, relu>(value, bias, y, finish));
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

template <typename Type, bool add, bool relu>
void finish_matrix(const float* sums, typename Type::Value* y, int64_t rows, int64_t channels, const Finish& finish) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t channel = 0; channel < channels; channel += lanes) {
      const Vector bias = finish.bias ? F32::load(finish.bias + channel) : Vector{};
      const int64_t j = row * channels + channel;
      Type::store(y + j, finished<Type, add, relu>(F32::load(sums + j), bias, y + j, finish));
    }
  }
}

template <typename Type>
void finish_sums(const float* sums, void* y, int64_t rows, int64_t channels, const Finish& finish) {
  auto* to = static_cast<typename Type::Value*>(y);
  if (finish.add) {
    if (finish.relu) return finish_matrix<Type, true, true>(sums, to, rows, channels, finish);
    return finish_matrix<Type, true, false>(sums, to, rows, channels, finish);
  }
  if (finish.relu) return finish_matrix<Type, false, true>(sums, to, rows, channels, finish);
  return finish_matrix<Type, false, false>(sums, to, rows, channels, finish);
}

/// Elements of a column.
template <typename Type>
SHEAF_INLINE Vector along_rows(const typename Type::Value* from, int64_t row_stride) {
  Vector values;
  for (int lane = 0; lane < lanes; ++lane) values[lane] = Type::widen(from[lane * row_stride]);
  return values;
}

template <typename Type, typename Operand>
void transform_weight(const void* weight, float* to, int64_t stride, int64_t in, int64_t out, bool gradient, int64_t begin,
                      int64_t end) {
  constexpr int panel = 2 * lanes;
  const auto* w = static_cast<const typename Type::Value*>(weight);
  const int64_t values = gradient ? out : in, depth = values / Operand::pair;
  for (int64_t column = begin; column < end; column += lanes) {
    float* const at = to + column / panel * panel * depth + column % panel;
    for (int64_t first = 0; first < values; first += Operand::step) {
      transform<TransformWeight, typename Operand::Depth, 0, window_size>(
          [&](int row, int across) {
            const int tap = row * kernel_size + across;
            return Operand::gather(
                [&](int64_t next) {
                  const int64_t k = first + next;
                  if (!gradient) return Type::load(w + (tap * in + k) * out + column);
                  return along_rows<Type>(w + ((taps - 1 - tap) * in + column) * out + k, out);
                },
                Operand::step);
          },
          [&](int row, int point, typename Operand::Depth value) {
            Operand::store(at + (row * window_size + point) * stride, first / Operand::step, panel, value);
          });
    }
  }
}

template <typename Type, typename Operand>
void pack_weight(const void* matrix, float* to, int64_t in, int64_t out, bool gradient, int64_t begin, int64_t end) {
  constexpr int panel = 2 * lanes;
  const auto* w = static_cast<const typename Type::Value*>(matrix);
  const int64_t values = gradient ? out : in, depth = values / Operand::pair;
  for (int64_t column = begin; column < end; column += lanes) {
    for (int64_t first = 0; first < values; first += Operand::step) {
      const auto value = Operand::gather(
          [&](int64_t next) {
            const int64_t k = first + next;
            return gradient ? along_rows<Type>(w + column * out + k, out) : Type::load(w + k * out + column);
          },
          Operand::step);
      Operand::store(to + column / panel * panel * depth + column % panel, first / Operand::step, panel, value);
    }
  }
}

template <typename Type, typename Operand>
void pack_images(const void* pixel, float* to, int64_t images, int64_t channels) {
  const auto* from = static_cast<const typename Type::Value*>(pixel);
  for (int64_t image = 0; image < whole_units<Operand>(images); image += Operand::step) {
    for (int64_t channel = 0; channel < channels; channel += lanes) {
      const auto value =
          Operand::gather([&](int64_t next) { return Type::load(from + (image + next) * channels + channel); }, images - image);
      Operand::store(to + channel, image / Operand::step, channels, value);
    }
  }
}

void finish_dweight(const float* m, int64_t lots, float* dw, int64_t stride, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; j += lanes) {
    transform<FinishDweight, Vector, 0, kernel_size>(
        [&](int row, int column) {
          const float* at = m + (row * window_size + column) * stride + j;
          Vector value = F32::load(at);
          for (int64_t lot = 1; lot < lots; ++lot) value += F32::load(at + lot * positions * stride);
          return value;
        },
        [&](int row, int column, Vector value) { F32::store(dw + (row * kernel_size + column) * stride + j, value); });
  }
}

/// With products of registers, unless others are given.
template <typename Type, typename Operand>
constexpr KernelTable table(const char* instructions, decltype(KernelTable::multiply) product = multiply<Operand>,
                            decltype(KernelTable::multiply_terms) products = multiply_terms<Operand>) {
  return {instructions,
          lanes,
          2 * lanes,
          Operand::pair,
          Operand::depth_unit,
          transform_source<Type, Operand>,
          transform_rows<Type, Operand, TransformX>,
          transform_rows<Type, Operand, TransformDy>,
          finish_y<Type>,
          transform_weight<Type, Operand>,
          finish_dweight,
          pack_weight<Type, Operand>,
          pack_images<Type, Operand>,
          finish_sums<Type>,
          product,
          products,
          nullptr,
          nullptr};
}

}  // namespace
}  // namespace sheaf::winograd
