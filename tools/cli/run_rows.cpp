#include "tools/cli/run_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace sheaf {
namespace {

/// How a tensor's rows lie: `outer` runs of rows, each row `row_bytes` long.
struct Rows {
  size_t outer = 1;
  size_t row_bytes = 1;
};

Rows rows_of(const std::vector<int64_t>& shape, int dim, DType dtype) {
  Rows rows;
  rows.row_bytes = size_of(dtype);
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    if (i < dim) rows.outer *= static_cast<size_t>(shape[static_cast<size_t>(i)]);
    if (i > dim) rows.row_bytes *= static_cast<size_t>(shape[static_cast<size_t>(i)]);
  }
  return rows;
}

/// Copies `count` rows between two tensors that differ in their number of rows alone.
void copy_rows(const Rows& rows, std::byte* to, int64_t to_rows, int64_t to_first, const std::byte* from, int64_t from_rows,
               int64_t from_first, int64_t count) {
  for (size_t i = 0; i < rows.outer; ++i) {
    std::memcpy(to + (i * static_cast<size_t>(to_rows) + static_cast<size_t>(to_first)) * rows.row_bytes,
                from + (i * static_cast<size_t>(from_rows) + static_cast<size_t>(from_first)) * rows.row_bytes,
                static_cast<size_t>(count) * rows.row_bytes);
  }
}

Result<int64_t> count_rows(const Model& model, const std::vector<HostTensor>& inputs, int64_t otherwise) {
  std::optional<size_t> first;
  int64_t rows = otherwise;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueInfo& info = model.inputs()[i];
    if (inputs[i].dtype != info.dtype || inputs[i].shape.size() != info.shape.size()) {
      return Error("input '" + info.name + "' has another dtype or number of dimensions than the model's");
    }
    if (info.batch_dim < 0) continue;
    const int64_t own = inputs[i].shape[static_cast<size_t>(info.batch_dim)];
    if (first && own != rows) {
      return Error("inputs differ in their number of rows: '" + model.inputs()[*first].name + "' has " + std::to_string(rows) +
                   ", '" + info.name + "' has " + std::to_string(own));
    }
    if (!first) first = i;
    rows = own;
  }
  return rows;
}

/// A session for one batch size with what its batches need: slices of the inputs, or copies where rows don't lie
/// together.
class BatchRunner {
 public:
  BatchRunner(const Model& model, Session session) : model_(model), session_(std::move(session)) {}

  Session& session() { return session_; }

  Result<void> run(const std::vector<HostTensor>& inputs, int64_t first_row, int64_t count, std::vector<HostTensor>& outputs,
                   const std::vector<int64_t>& first_output_rows, const RunOptions& options) {
    std::vector<const void*> in(inputs.size());
    std::vector<void*> out(outputs.size());
    staged_inputs_.resize(inputs.size());
    staged_outputs_.resize(outputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int dim = model_.inputs()[i].batch_dim;
      in[i] = inputs[i].bytes.data();
      if (dim < 0) continue;
      const Rows rows = rows_of(inputs[i].shape, dim, inputs[i].dtype);
      const int64_t all = inputs[i].shape[static_cast<size_t>(dim)];
      if (rows.outer == 1 || count == all) {
        in[i] = inputs[i].bytes.data() + static_cast<size_t>(first_row) * rows.row_bytes;
        continue;
      }
      staged_inputs_[i].resize(rows.outer * static_cast<size_t>(count) * rows.row_bytes);
      copy_rows(rows, staged_inputs_[i].data(), count, 0, inputs[i].bytes.data(), all, first_row, count);
      in[i] = staged_inputs_[i].data();
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int dim = model_.outputs()[i].batch_dim;
      out[i] = outputs[i].bytes.data();
      if (dim < 0) continue;
      const Rows rows = rows_of(outputs[i].shape, dim, outputs[i].dtype);
      const int64_t own = session_.output_shape(i)[static_cast<size_t>(dim)];
      if (rows.outer == 1 || own == outputs[i].shape[static_cast<size_t>(dim)]) {
        out[i] = outputs[i].bytes.data() + static_cast<size_t>(first_output_rows[i]) * rows.row_bytes;
        continue;
      }
      staged_outputs_[i].resize(rows.outer * static_cast<size_t>(own) * rows.row_bytes);
      out[i] = staged_outputs_[i].data();
    }
    // A null pointer stands for an empty vector; a run wants an address for what has no bytes, too.
    alignas(64) static std::byte nothing;
    for (auto& pointer : in) pointer = pointer ? pointer : &nothing;
    for (auto& pointer : out) pointer = pointer ? pointer : &nothing;
    SHEAF_TRY(session_.run(in, out, options));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (out[i] != staged_outputs_[i].data() || staged_outputs_[i].empty()) continue;
      const int dim = model_.outputs()[i].batch_dim;
      const int64_t own = session_.output_shape(i)[static_cast<size_t>(dim)];
      copy_rows(rows_of(outputs[i].shape, dim, outputs[i].dtype), outputs[i].bytes.data(),
                outputs[i].shape[static_cast<size_t>(dim)], first_output_rows[i], staged_outputs_[i].data(), own, 0, own);
    }
    return {};
  }

 private:
  using Bytes = std::vector<std::byte, AlignedAllocator<std::byte>>;
  const Model& model_;
  Session session_;
  std::vector<Bytes> staged_inputs_, staged_outputs_;
};

}  // namespace

Result<std::vector<HostTensor>> run_rows(const Model& model, std::shared_ptr<const DeviceSet> devices,
                                         const std::vector<HostTensor>& inputs, const RowsOptions& options) {
  if (inputs.size() != model.inputs().size()) {
    return Error("the model has " + std::to_string(model.inputs().size()) + " inputs; " + std::to_string(inputs.size()) +
                 " are given");
  }
  SHEAF_ASSIGN(auto rows, count_rows(model, inputs, std::max<int64_t>(1, options.batch_size)));
  const int64_t batch = options.batch_size > 0 ? std::min(options.batch_size, std::max<int64_t>(rows, 1)) : rows;
  const int64_t whole_batches = batch > 0 ? rows / batch : 0;
  const int64_t rest = batch > 0 ? rows % batch : 0;

  std::optional<BatchRunner> whole, last;
  if (whole_batches > 0) {
    SHEAF_ASSIGN(auto session, model.bind(devices, batch, options.bind));
    whole.emplace(model, std::move(session));
  }
  if (rest > 0 || whole_batches == 0) {
    SHEAF_ASSIGN(auto session, model.bind(devices, rest, options.bind));
    last.emplace(model, std::move(session));
  }
  const Session& any = whole ? whole->session() : last->session();
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; d < inputs[i].shape.size(); ++d) {
      if (static_cast<int>(d) == model.inputs()[i].batch_dim || inputs[i].shape[d] == any.input_shape(i)[d]) continue;
      return Error("input '" + model.inputs()[i].name + "' has shape " + shape_text(inputs[i].shape) + "; a batch has shape " +
                   shape_text(any.input_shape(i)));
    }
  }

  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    const ValueInfo& info = model.outputs()[i];
    std::vector<int64_t> shape = any.output_shape(i);
    if (info.batch_dim >= 0) {
      const auto dim = static_cast<size_t>(info.batch_dim);
      shape[dim] = (whole ? whole->session().output_shape(i)[dim] * whole_batches : 0) +
                   (last ? last->session().output_shape(i)[dim] : 0);
    } else if (whole_batches + (last ? 1 : 0) > 1) {
      return Error("output '" + info.name + "' has no dimension that depends on the batch, so the results of several " +
                   "batches cannot be concatenated: send all " + std::to_string(rows) + " rows at once");
    }
    auto tensor = make_tensor(info.dtype, std::move(shape));
    if (!tensor) return tensor.error().note("needed for output '" + info.name + "'");
    outputs.push_back(std::move(*tensor));
  }

  std::vector<int64_t> output_rows(outputs.size(), 0);
  for (int64_t row = 0; row < rows || row == 0; row += std::max<int64_t>(batch, 1)) {
    const bool full = whole && rows - row >= batch;
    BatchRunner& runner = full ? *whole : *last;
    SHEAF_TRY(runner.run(inputs, row, full ? batch : rest, outputs, output_rows, options.run));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int dim = model.outputs()[i].batch_dim;
      if (dim >= 0) output_rows[i] += runner.session().output_shape(i)[static_cast<size_t>(dim)];
    }
  }
  return outputs;
}

}  // namespace sheaf
