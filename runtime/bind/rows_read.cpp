#include "runtime/bind/rows_read.h"

#include <algorithm>

namespace sheaf {
namespace {

/// An input's elements: `outer` runs of `rows` rows of `row_bytes` bytes each.
struct Rows {
  size_t outer = 1, rows = 1, row_bytes = 0;
  size_t run_bytes() const { return rows * row_bytes; }
};

Rows rows_of(const Value& value, const TensorSpec& spec) {
  Rows found;
  found.row_bytes = spec.bytes;
  const auto batch = std::ranges::find_if(value.shape, [](const Extent& extent) { return !extent.is_static(); });
  if (batch == value.shape.end()) return found;
  const auto dim = static_cast<size_t>(batch - value.shape.begin());
  found.rows = static_cast<size_t>(spec.dims[dim]);
  found.row_bytes = size_of(spec.dtype);
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    if (i < dim) found.outer *= static_cast<size_t>(spec.dims[i]);
    if (i > dim) found.row_bytes *= static_cast<size_t>(spec.dims[i]);
  }
  return found;
}

class Readers {
 public:
  Readers(const BoundProgram& bound, const Program& program, const DeviceSet& devices) : bound_(bound), devices_(devices) {
    for (const Value& value : program.values)
      if (value.role == Value::input || value.role == Value::target || value.role == Value::setting) given_.push_back(&value);
    read_.resize(given_.size());
  }

  std::vector<Run> find() {
    for (const Instance& instance : bound_.instances) {
      if (!devices_.here(instance.lane) || instance.left_out() || instance.is<Instance::Print>()) continue;
      const auto* copy = instance.is<Instance::Copy>();
      for (const TensorId input : instance.inputs) add(input, copy);
    }
    return std::move(read_);
  }

 private:
  void add(TensorId operand, const Instance::Copy* copy) {
    const Root at = bound_.root(operand);
    const Tensor& home = bound_.tensors[at.tensor];
    const auto* given = home.lies<Tensor::Given>();
    const size_t bytes = bound_.tensors[operand].spec.bytes;
    if (!given || bytes == 0) return;
    const auto number = static_cast<size_t>(given->input);
    const Rows rows = rows_of(*given_[number], home.spec);
    if (rows.row_bytes == 0) return;
    const size_t begin = at.offset + (copy ? copy->source_offset : 0);
    if (copy && copy->shape.rows > 1) {
      // The same piece of each run; otherwise whole runs.
      const size_t first = begin % rows.run_bytes();
      const bool alike = copy->shape.source_pitch == rows.run_bytes() && first + copy->shape.row_bytes <= rows.run_bytes();
      if (alike) add(number, rows, first, first + copy->shape.row_bytes);
      else add(number, rows, 0, rows.run_bytes());
    } else {
      const size_t end = begin + (copy ? copy->shape.row_bytes : bytes);
      if (rows.outer == 1) add(number, rows, begin, end);
      else add(number, rows, 0, rows.run_bytes());
    }
  }

  /// Bytes [begin, end) of a run.
  void add(size_t number, const Rows& rows, size_t begin, size_t end) {
    const auto first = static_cast<int64_t>(begin / rows.row_bytes);
    const auto past = static_cast<int64_t>((end + rows.row_bytes - 1) / rows.row_bytes);
    Run& all = read_[number];
    const int64_t from = all.count == 0 ? first : std::min(all.begin, first);
    const int64_t to = all.count == 0 ? past : std::max(all.begin + all.count, past);
    all = {from, to - from};
  }

  const BoundProgram& bound_;
  const DeviceSet& devices_;
  std::vector<const Value*> given_;
  std::vector<Run> read_;
};

}  // namespace

std::vector<Run> rows_read(const BoundProgram& bound, const Program& program, const DeviceSet& devices) {
  return Readers(bound, program, devices).find();
}

}  // namespace sheaf
