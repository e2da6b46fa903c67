#include "runtime/training/dataset.h"

#include "runtime/check/lengths.h"
#include "runtime/data/array_rows.h"
#include "runtime/session/model_state.h"

#include <zlib.h>

namespace sheaf {

std::vector<ValueInfo> training_values(const Plan& plan) {
  std::vector<ValueInfo> infos;
  const std::vector<Length> lengths = lengths_of(plan);
  for (const Value::Role role : {Value::input, Value::target}) {
    for (const Value& value : plan.train.values) {
      if (value.role != role) continue;
      infos.push_back(describe_value(value, value.name, lengths));
    }
  }
  return infos;
}

Result<Dataset> Dataset::open(std::vector<ValueInfo> values, const std::map<std::string, std::string>& sources, uint64_t seed,
                              const std::map<std::string, RandomRange>& ranges, void (*note)(const Diagnostic&)) {
  std::vector<std::unique_ptr<RowSource>> opened;
  for (const ValueInfo& value : values) {
    const auto range = ranges.find(value.name);
    SourceRequest request{value.name, value.dtype, {}, seed, range == ranges.end() ? RandomRange{} : range->second};
    request.note = note;
    for (const Extent& extent : value.shape) request.shape.push_back(extent.is_static() ? extent.constant : -1);
    const auto source = sources.find(value.name);
    if (source == sources.end()) return Error("there is no source for '" + value.name + "'");
    SHEAF_ASSIGN(auto rows, open_source(source->second, request));
    opened.push_back(std::move(rows));
  }
  return of(std::move(values), std::move(opened));
}

Result<Dataset> Dataset::make(std::vector<ValueInfo> values, std::vector<HostTensor> tensors) {
  std::vector<std::unique_ptr<RowSource>> sources;
  for (size_t i = 0; i < values.size(); ++i) sources.push_back(rows_of_tensor(std::move(tensors[i]), values[i].batch_dim));
  return of(std::move(values), std::move(sources));
}

Result<Dataset> Dataset::of(std::vector<ValueInfo> values, std::vector<std::unique_ptr<RowSource>> sources) {
  Dataset data;
  for (size_t i = 0; i < values.size(); ++i) {
    if (sources[i]->batch_dim() < 0) continue;
    const int64_t rows = sources[i]->rows();
    if (data.has_rows() && rows != data.rows_) {
      return Error("inputs and targets differ in their number of rows: '" + values[static_cast<size_t>(data.rows_of_)].name +
                   "' has " + std::to_string(data.rows_) + ", '" + values[i].name + "' has " + std::to_string(rows));
    }
    if (!data.has_rows()) data.rows_of_ = static_cast<int>(i);
    data.rows_ = rows;
  }
  data.values_ = std::move(values);
  data.sources_ = std::move(sources);
  return data;
}

Result<void> Dataset::require_rows() const {
  if (!has_rows()) return Error("none of the model's inputs and targets has a dimension that is the batch: nothing has rows");
  if (rows_ > 0) return {};
  return Error("the data has no rows: '" + values_[static_cast<size_t>(rows_of_)].name + "' is empty");
}

std::map<std::string, ByteNumbers> Dataset::numbers() const {
  std::map<std::string, ByteNumbers> all;
  for (size_t i = 0; i < values_.size(); ++i)
    if (auto numbers = sources_[i]->numbers(); !numbers.empty()) all.emplace(values_[i].name, std::move(numbers));
  return all;
}

void Dataset::give_bytes(std::span<const ValueInfo> taken) {
  for (size_t i = 0; i < values_.size(); ++i)
    if (taken[i].dtype == DType::uint8 && !sources_[i]->numbers().empty()) sources_[i]->give_bytes();
}

Result<uint32_t> Dataset::fingerprint() const {
  uLong sum = 0;
  for (const auto& source : sources_) {
    SHEAF_ASSIGN(const uint32_t one, source->fingerprint());
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(&one), sizeof one);
  }
  return static_cast<uint32_t>(sum);
}

}  // namespace sheaf
