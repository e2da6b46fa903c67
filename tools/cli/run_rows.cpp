#include "tools/cli/run_rows.h"

#include "runtime/training/batch_loader.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace sheaf {
namespace {

/// Copies all `count` rows of `from` to rows `first` to `first` + `count` - 1 of `to`, which has `to_rows`.
void copy_rows(const RowLayout& layout, size_t element_bytes, std::byte* to, int64_t to_rows, int64_t first,
               const std::byte* from, int64_t count) {
  const size_t row_bytes = layout.row_elements * element_bytes;
  for (size_t i = 0; i < layout.outer; ++i) {
    std::memcpy(to + (i * static_cast<size_t>(to_rows) + static_cast<size_t>(first)) * row_bytes,
                from + i * static_cast<size_t>(count) * row_bytes, static_cast<size_t>(count) * row_bytes);
  }
}

Result<void> check_inputs(const Model& model, const Dataset& inputs, const Session& session) {
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const ValueInfo& info = model.inputs()[i];
    const RowSource& source = inputs.source(i);
    const std::vector<int64_t>& wanted = session.input_shape(i);
    if (source.dtype() != info.dtype || source.shape().size() != wanted.size())
      return Error("input '" + info.name + "' has another dtype or number of dimensions than the model's");
    for (size_t d = 0; d < wanted.size(); ++d) {
      if (static_cast<int>(d) == info.batch_dim || source.shape()[d] == wanted[d]) continue;
      return Error("input '" + info.name + "' has shape " + shape_text(source.shape()) + "; a batch has shape " +
                   shape_text(wanted));
    }
  }
  return {};
}

/// A session for one batch size, with memory for the outputs whose rows aren't contiguous.
class BatchRunner {
 public:
  BatchRunner(const Model& model, Session session) : model_(model), session_(std::move(session)) {}

  Session& session() { return session_; }

  Result<void> run(std::span<const void* const> inputs, std::vector<HostTensor>& outputs,
                   const std::vector<int64_t>& first_output_rows, const RunOptions& options) {
    std::vector<void*> out(outputs.size());
    staged_outputs_.resize(outputs.size());
    // A null pointer stands for an empty vector; a run wants an address even for data without bytes.
    alignas(64) static std::byte nothing;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int dim = model_.outputs()[i].batch_dim;
      out[i] = outputs[i].bytes.data();
      if (dim >= 0) {
        const RowLayout layout = RowLayout::of(outputs[i].shape, dim);
        const size_t row_bytes = layout.row_elements * size_of(outputs[i].dtype);
        const int64_t own = own_rows(i, dim);
        if (layout.outer == 1 || own == outputs[i].shape[static_cast<size_t>(dim)]) {
          out[i] = outputs[i].bytes.data() + static_cast<size_t>(first_output_rows[i]) * row_bytes;
        } else {
          staged_outputs_[i].resize(layout.outer * static_cast<size_t>(own) * row_bytes);
          out[i] = staged_outputs_[i].data();
        }
      }
      if (!out[i]) out[i] = &nothing;
    }
    SHEAF_TRY(session_.run(inputs, out, options));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (out[i] != staged_outputs_[i].data() || staged_outputs_[i].empty()) continue;
      const int dim = model_.outputs()[i].batch_dim;
      copy_rows(RowLayout::of(outputs[i].shape, dim), size_of(outputs[i].dtype), outputs[i].bytes.data(),
                outputs[i].shape[static_cast<size_t>(dim)], first_output_rows[i], staged_outputs_[i].data(), own_rows(i, dim));
    }
    return {};
  }

 private:
  using Bytes = std::vector<std::byte, AlignedAllocator<std::byte>>;
  int64_t own_rows(size_t output, int dim) const { return session_.output_shape(output)[static_cast<size_t>(dim)]; }
  const Model& model_;
  Session session_;
  std::vector<Bytes> staged_outputs_;
};

}  // namespace

Result<std::vector<HostTensor>> run_rows(const Model& model, std::shared_ptr<const DeviceSet> devices, Dataset& inputs,
                                         const RowsOptions& options) {
  // If nothing has rows, any batch will do.
  const int64_t rows = inputs.has_rows() ? inputs.rows() : std::max<int64_t>(1, options.batch_size);
  const int64_t batch = options.batch_size > 0 ? std::min(options.batch_size, std::max<int64_t>(rows, 1)) : rows;
  const int64_t whole_batches = batch > 0 ? rows / batch : 0;
  const int64_t rest = batch > 0 ? rows % batch : 0;

  BindOptions bind = options.bind;
  bind.bytes = inputs.numbers();
  std::optional<BatchRunner> whole, last;
  if (whole_batches > 0) {
    SHEAF_ASSIGN(auto session, model.bind(devices, batch, bind));
    whole.emplace(model, std::move(session));
  }
  if (rest > 0 || whole_batches == 0) {
    SHEAF_ASSIGN(auto session, model.bind(devices, rest, bind));
    last.emplace(model, std::move(session));
  }
  const Session& any = whole ? whole->session() : last->session();
  SHEAF_TRY(check_inputs(model, inputs, any));
  inputs.give_bytes(any.inputs());

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

  LoaderOptions ahead;
  ahead.batch_size = std::max<int64_t>(batch, 1);
  ahead.shuffle = false;
  ahead.batches = inputs.has_rows() ? batches_per_epoch(rows, ahead.batch_size, false) : 1;
  SHEAF_ASSIGN(const auto loader, BatchLoader::start(inputs, ahead));
  std::vector<int64_t> output_rows(outputs.size(), 0);
  for (;;) {
    SHEAF_ASSIGN(const auto given, loader->next());
    if (!given) return outputs;
    BatchRunner& runner = whole && (given->rows == batch || !inputs.has_rows()) ? *whole : *last;
    SHEAF_TRY(runner.run(given->buffers, outputs, output_rows, options.run));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int dim = model.outputs()[i].batch_dim;
      if (dim >= 0) output_rows[i] += runner.session().output_shape(i)[static_cast<size_t>(dim)];
    }
  }
}

}  // namespace sheaf
