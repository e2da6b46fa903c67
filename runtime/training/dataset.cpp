#include "runtime/training/dataset.h"

#include "runtime/data/source.h"

#include <cstring>

#include <zlib.h>

namespace sheaf {

std::vector<ValueInfo> training_values(const Plan& plan) {
  std::vector<ValueInfo> infos;
  for (const Value::Role role : {Value::input, Value::target}) {
    for (const Value& value : plan.train.values) {
      if (value.role != role) continue;
      ValueInfo info{value.name, value.dtype, value.shape, -1};
      for (size_t i = 0; i < value.shape.size() && info.batch_dim < 0; ++i) {
        if (!value.shape[i].is_static()) info.batch_dim = static_cast<int>(i);
      }
      infos.push_back(std::move(info));
    }
  }
  return infos;
}

Result<Dataset> Dataset::load(std::vector<ValueInfo> values, const std::map<std::string, std::string>& sources, uint64_t seed,
                              const std::map<std::string, RandomRange>& ranges, void (*note)(const Diagnostic&)) {
  std::vector<HostTensor> tensors;
  for (const ValueInfo& value : values) {
    const auto range = ranges.find(value.name);
    SourceRequest request{value.name, value.dtype, {}, seed, range == ranges.end() ? RandomRange{} : range->second};
    request.note = note;
    for (const Extent& extent : value.shape) request.shape.push_back(extent.is_static() ? extent.constant : -1);
    const auto source = sources.find(value.name);
    if (source == sources.end()) return Error("there is no source for '" + value.name + "'");
    SHEAF_ASSIGN(auto tensor, load_source(source->second, request));
    tensors.push_back(std::move(tensor));
  }
  return make(std::move(values), std::move(tensors));
}

Result<Dataset> Dataset::make(std::vector<ValueInfo> values, std::vector<HostTensor> tensors) {
  Dataset data;
  const ValueInfo* first = nullptr;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::vector<int64_t>& shape = tensors[i].shape;
    Layout layout;
    layout.row_bytes = tensors[i].bytes.size();
    if (const int dim = values[i].batch_dim; dim >= 0) {
      const int64_t rows = shape[static_cast<size_t>(dim)];
      if (first && rows != data.rows_) {
        return Error("inputs and targets differ in their number of rows: '" + first->name + "' has " +
                     std::to_string(data.rows_) + ", '" + values[i].name + "' has " + std::to_string(rows));
      }
      if (!first) first = &values[i];
      data.rows_ = rows;
      layout = {true, 1, size_of(tensors[i].dtype)};
      for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
        if (d < dim) layout.outer *= static_cast<size_t>(shape[static_cast<size_t>(d)]);
        if (d > dim) layout.row_bytes *= static_cast<size_t>(shape[static_cast<size_t>(d)]);
      }
    }
    data.layouts_.push_back(layout);
  }
  if (!first) return Error("none of the model's inputs and targets has a dimension that is the batch: nothing has rows");
  if (data.rows_ == 0) return Error("the data has no rows: '" + first->name + "' is empty");
  data.values_ = std::move(values);
  data.tensors_ = std::move(tensors);
  return data;
}

uint32_t Dataset::checksum() const {
  uLong sum = 0;
  for (const HostTensor& tensor : tensors_) {
    if (!tensor.bytes.empty()) sum = crc32_z(sum, reinterpret_cast<const Bytef*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return static_cast<uint32_t>(sum);
}

std::vector<int64_t> Dataset::batch_shape(size_t index, int64_t rows) const {
  std::vector<int64_t> shape = tensors_[index].shape;
  if (layouts_[index].rows) shape[static_cast<size_t>(values_[index].batch_dim)] = rows;
  return shape;
}

void Dataset::gather(size_t index, std::span<const int64_t> order, std::byte* to) const {
  const Layout& layout = layouts_[index];
  const std::byte* from = tensors_[index].bytes.data();
  const size_t bytes = layout.row_bytes;
  if (bytes == 0) return;
  if (!layout.rows) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (size_t i = 0; i < layout.outer; ++i, from += static_cast<size_t>(rows_) * bytes) {
    for (const int64_t row : order) {
      std::memcpy(to, from + static_cast<size_t>(row) * bytes, bytes);
      to += bytes;
    }
  }
}

}  // namespace sheaf
