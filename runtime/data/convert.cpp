#include "runtime/data/convert.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace sheaf {

bool is_floating(DType dtype) { return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16; }

namespace {

float load_float(const HostTensor& tensor, size_t i) {
  if (tensor.dtype == DType::float32) return tensor.as<float>()[i];
  const uint16_t bits = tensor.as<uint16_t>()[i];
  return tensor.dtype == DType::float16 ? float_from_half(bits) : float_from_bfloat16(bits);
}

void store_float(HostTensor& tensor, size_t i, float value) {
  switch (tensor.dtype) {
    case DType::float16: tensor.as<uint16_t>()[i] = half_from_float(value); break;
    case DType::bfloat16: tensor.as<uint16_t>()[i] = bfloat16_from_float(value); break;
    default: tensor.as<float>()[i] = value; break;
  }
}

/// False if the type can't represent `value`.
bool store_integer(HostTensor& tensor, size_t i, int64_t value) {
  switch (tensor.dtype) {
    case DType::int64: tensor.as<int64_t>()[i] = value; return true;
    case DType::int32: tensor.as<int32_t>()[i] = static_cast<int32_t>(value); return value == static_cast<int32_t>(value);
    case DType::uint8: tensor.as<uint8_t>()[i] = static_cast<uint8_t>(value); return value == static_cast<uint8_t>(value);
    case DType::boolean: tensor.as<uint8_t>()[i] = value != 0; return value == 0 || value == 1;
    default: break;
  }
  // Integers up to 2^24 are exact in float32; the narrower types must give the same number back.
  if (value > (1 << 24) || value < -(1 << 24)) return false;
  store_float(tensor, i, static_cast<float>(value));
  return load_float(tensor, i) == static_cast<float>(value);
}

}  // namespace

float float_from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t fraction = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | fraction << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t half_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return sign | 0x7E00;
  // 65520 is halfway between the largest half and what would come next.
  if (magnitude >= 0x477FF000) return sign | 0x7C00;
  if (magnitude < 0x38800000) {
    // Subnormal: adding a half makes the unit in the last place 2^-24, and the addition rounds to even.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t even = magnitude >> 13 & 1;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + even) >> 13));
}

float float_from_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t bfloat16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void narrow(std::span<const double> from, std::span<float> to) {
  // A double beyond float's range converts to infinity under IEEE arithmetic; C++ calls that undefined.
  constexpr double kLimit = std::numeric_limits<float>::max();
  for (size_t i = 0; i < from.size(); ++i) {
    const double value = from[i];
    const bool beyond = value > kLimit || value < -kLimit;
    to[i] = beyond ? (value > 0 ? 1 : -1) * std::numeric_limits<float>::infinity() : static_cast<float>(value);
  }
}

int64_t integer_at(const HostTensor& tensor, size_t i) {
  switch (tensor.dtype) {
    case DType::int64: return tensor.as<int64_t>()[i];
    case DType::int32: return tensor.as<int32_t>()[i];
    default: return tensor.as<uint8_t>()[i];
  }
}

double number_at(const HostTensor& tensor, size_t i) {
  return is_floating(tensor.dtype) ? load_float(tensor, i) : static_cast<double>(integer_at(tensor, i));
}

Result<HostTensor> convert(HostTensor tensor, DType to) {
  if (tensor.dtype == to) return tensor;
  const bool from_floating = is_floating(tensor.dtype);
  if (from_floating && !is_floating(to))
    return Error("floating-point numbers can't become " + std::string(name_of(to)) + " without loss; convert the data first");
  Result<HostTensor> made = make_tensor(to, tensor.shape);
  if (!made) return made;
  const size_t count = tensor.bytes.size() / size_of(tensor.dtype);
  for (size_t i = 0; i < count; ++i) {
    if (from_floating) {
      store_float(*made, i, load_float(tensor, i));
    } else if (const int64_t value = integer_at(tensor, i); !store_integer(*made, i, value)) {
      return Error("the number " + std::to_string(value) + " can't be represented as " + std::string(name_of(to)));
    }
  }
  return made;
}

}  // namespace sheaf
