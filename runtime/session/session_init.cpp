// Initial parameters, drawn from the distributions that the plan states.
#include "runtime/base/philox.h"
#include "runtime/base/exception.h"
#include "sheaf/tensor.h"
#include "runtime/session/model_state.h"

#include <algorithm>

namespace sheaf {
namespace {

Error bad_init(const Parameter& parameter, const std::string& why) {
  return Error("parameter '" + parameter.name + "': its initial distribution " + why);
}

/// f32 elements are drawn one word (uniform) or two (normal) each, from a stream that belongs to the name: adding
/// a layer to a model leaves the others' values as they were.
Result<void> draw_all(const Parameter& parameter, uint64_t seed, std::span<float> data) {
  const Json& init = parameter.init;
  const auto count = static_cast<int64_t>(data.size());
  const std::string type = init.value("type", std::string());
  const PhiloxSequence sequence(seed, stream_of(parameter.name));
  if (type == "uniform") {
    const double low = init.value("low", 0.0), high = init.value("high", 1.0);
    for (int64_t i = 0; i < count; i += 4) {
      const auto words = sequence.words(static_cast<uint64_t>(i / 4));
      for (int64_t j = 0; j < 4 && i + j < count; ++j) {
        data[static_cast<size_t>(i + j)] =
            static_cast<float>(low + (high - low) * PhiloxSequence::unit(words[static_cast<size_t>(j)]));
      }
    }
    return {};
  }
  if (type == "normal") {
    const double mean = init.value("mean", 0.0), std = init.value("std", 1.0);
    for (int64_t i = 0; i < count; i += 2) {
      const auto words = sequence.words(static_cast<uint64_t>(i / 2));
      data[static_cast<size_t>(i)] = static_cast<float>(mean + std * PhiloxSequence::normal(words[0], words[1]));
      if (i + 1 < count)
        data[static_cast<size_t>(i + 1)] = static_cast<float>(mean + std * PhiloxSequence::normal(words[2], words[3]));
    }
    return {};
  }
  double value = 0;
  if (type == "constant") {
    value = init.value("value", 0.0);
  } else if (type == "ones") {
    value = 1;
  } else if (type != "zeros") {
    return bad_init(parameter, "is of unknown type '" + type + "'; known are uniform, normal, constant, ones, zeros");
  }
  std::fill(data.begin(), data.end(), static_cast<float>(value));
  return {};
}

/// And zeroes the row that the distribution says.
Result<void> draw(const Parameter& parameter, uint64_t seed, std::span<float> data) {
  SHEAF_TRY(draw_all(parameter, seed, data));
  if (!parameter.init.contains("zero_row")) return {};
  const int64_t rows = parameter.shape.empty() ? 0 : parameter.shape[0];
  int64_t row = parameter.init["zero_row"].get<int64_t>();
  if (row < 0) row += rows;
  if (row < 0 || row >= rows) return bad_init(parameter, "zeroes a row that it doesn't have");
  const size_t width = data.size() / static_cast<size_t>(rows);
  std::ranges::fill(data.subspan(static_cast<size_t>(row) * width, width), 0.0F);
  return {};
}

bool numbers_only(const Json& init) {
  for (const auto& [key, value] : init.items()) {
    if (key != "type" && !value.is_number()) return false;
  }
  return !init.contains("type") || init["type"].is_string();
}

}  // namespace

Result<void> Model::initialise_parameters(uint64_t seed) try {
  const auto parameters = state_->plan->weights();
  const auto lock = state_->store->lock();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    SHEAF_ASSIGN(auto variable, state_->store->variable(parameter.name));
    SHEAF_ASSIGN(auto tensor, make_tensor(parameter.dtype, parameter.shape));
    if (tensor.bytes.empty()) continue;
    if (!parameter.init.is_object() || !numbers_only(parameter.init)) return bad_init(parameter, "is malformed");
    if (parameter.dtype == DType::float32) {  // others are counters, such as num_batches_tracked, from 0
      SHEAF_TRY(draw(parameter, seed, tensor.as<float>()));
    }
    SHEAF_TRY(state_->store->write(variable, tensor.bytes.data()));
  }
  state_->store->changed();
  return {};
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
