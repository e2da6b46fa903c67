#include "runtime/training/evaluator.h"

#include "runtime/bind/binding.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace sheaf {
namespace {

/// Empty data need an address too.
template <typename Pointer>
Pointer address_of(const HostTensor& tensor) {
  alignas(64) static std::byte nothing;
  return const_cast<std::byte*>(tensor.bytes.empty() ? &nothing : tensor.bytes.data());
}

}  // namespace

Result<Evaluator> Evaluator::make(const Model& model, std::shared_ptr<const DeviceSet> devices, Dataset& data,
                                  const LossSection& loss, int64_t batch_size, BindOptions options) {
  Evaluator evaluator(data, loss, std::min(batch_size, data.rows()));
  const auto place = [&](const std::string& name) -> Result<size_t> {
    for (size_t i = 0; i < data.values().size(); ++i) {
      if (data.values()[i].name == name) return i;
    }
    return Error("internal error: the plan's train program lacks '" + name + "'");
  };
  for (const ValueInfo& input : model.inputs()) {
    SHEAF_ASSIGN(auto found, place(input.name));
    evaluator.input_places_.push_back(found);
  }
  for (const LossInput& input : loss.inputs) {
    if (input.output) continue;
    SHEAF_ASSIGN(auto found, place(input.name));
    evaluator.loss_places_.push_back(found);
  }
  options.bytes.clear();
  for (const size_t at : evaluator.input_places_) {
    const bool compared =
        std::ranges::find(evaluator.loss_places_, at) != evaluator.loss_places_.end();  // on the host, as numbers
    if (auto numbers = data.source(at).numbers(); !numbers.empty() && !compared)
      options.bytes.emplace(data.values()[at].name, std::move(numbers));
  }
  SHEAF_ASSIGN(evaluator.whole_, evaluator.bind(model, devices, evaluator.batch_size_, options));
  if (const int64_t rest = data.rows() % evaluator.batch_size_; rest > 0) {
    SHEAF_ASSIGN(evaluator.rest_, evaluator.bind(model, devices, rest, options));
  }
  std::vector<ValueInfo> taken = data.values();
  for (size_t i = 0; i < evaluator.input_places_.size(); ++i)
    taken[evaluator.input_places_[i]].dtype = evaluator.whole_->session.inputs()[i].dtype;
  data.give_bytes(taken);
  return evaluator;
}

Result<Evaluator::Bound> Evaluator::bind(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t rows,
                                         const BindOptions& options) const {
  SHEAF_ASSIGN(auto session, model.bind(std::move(devices), rows, options));
  Bound bound{std::move(session), {}, {}, {}};
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    SHEAF_ASSIGN(auto tensor, make_tensor(model.outputs()[i].dtype, bound.session.output_shape(i)));
    bound.outputs.push_back(std::move(tensor));
  }
  for (const size_t at : loss_places_) {
    SHEAF_ASSIGN(auto tensor, make_tensor(data_->source(at).dtype(), data_->source(at).batch_shape(rows)));
    bound.data.push_back(std::move(tensor));
  }
  size_t next = 0;  // the tensors stay where they are when `bound` moves
  for (const LossInput& input : loss_.inputs)
    bound.inputs.push_back(input.output ? &bound.outputs[*input.output] : &bound.data[next++]);
  return bound;
}

RowsRead Evaluator::rows_needed(const Session& session) const {
  RowsRead needed(data_->values().size());
  for (size_t i = 0; i < input_places_.size(); ++i) needed[input_places_[i]] = {session.binding().rows_read()[i]};
  // The outputs come to every process, which compares them itself.
  for (const size_t at : loss_places_) needed[at] = {{0, data_->source(at).batch_dim() < 0 ? 1 : session.batch()}};
  return needed;
}

Result<void> Evaluator::add(Bound& bound, const Batch& batch, EvaluationSums& sums) const {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const size_t place : input_places_) in.push_back(batch.buffers[place]);
  for (const HostTensor& output : bound.outputs) out.push_back(address_of<void*>(output));
  for (size_t i = 0; i < bound.data.size(); ++i) {
    auto& to = bound.data[i].bytes;
    if (!to.empty()) std::memcpy(to.data(), batch.buffers[loss_places_[i]], to.size());
  }
  if (auto ok = bound.session.run(in, out, run_); !ok)
    return ok.error().note("in evaluation, rows from " + std::to_string(batch.position * batch_size_));
  return add_batch(loss_, bound.inputs, sums);
}

Result<std::optional<Evaluation>> Evaluator::run(const std::function<bool()>& stopped) {
  const auto begin = std::chrono::steady_clock::now();
  LoaderOptions options;
  options.batch_size = batch_size_;
  options.shuffle = false;
  options.batches = batches_per_epoch(data_->rows(), batch_size_, false);
  for (const auto* bound : {&whole_, &rest_})
    if (*bound) options.needed.emplace((*bound)->session.batch(), rows_needed((*bound)->session));
  SHEAF_ASSIGN(const auto loader, BatchLoader::start(*data_, options));
  EvaluationSums sums;
  for (;;) {
    if (stopped()) return std::optional<Evaluation>();
    SHEAF_ASSIGN(const auto batch, loader->next());
    if (!batch) break;
    SHEAF_TRY(add(batch->rows == batch_size_ ? *whole_ : *rest_, *batch, sums));
  }
  Evaluation found = evaluation_of(loss_, sums, data_->rows());
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return std::optional<Evaluation>(found);
}

}  // namespace sheaf
