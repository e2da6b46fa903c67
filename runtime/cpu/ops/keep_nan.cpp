#include "runtime/cpu/ops/keep_nan.h"

#include "runtime/steps/non_finite.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace sheaf {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Memory memory_of(size_t bytes) { return Memory(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64)); }

constexpr uint16_t kNarrowNan = 0x7FC0;
bool is_nan(float x) { return std::isnan(x); }
bool is_nan(uint16_t bfloat16) { return (bfloat16 & 0x7FFF) > 0x7F80; }

/// to[i] = NaN wherever of[i] is: elements of one layout.
template <typename Word>
void copy_nan(const void* of, void* to, size_t bytes, Word nan) {
  const auto* from = static_cast<const Word*>(of);
  auto* into = static_cast<Word*>(to);
  for (size_t i = 0; i < bytes / sizeof(Word); ++i)
    if (is_nan(from[i])) into[i] = nan;
}
void copy_nan(const void* of, void* to, const TensorSpec& tensor) {
  if (tensor.dtype == DType::float32) copy_nan<float>(of, to, tensor.bytes, std::nanf(""));
  if (tensor.dtype == DType::bfloat16) copy_nan<uint16_t>(of, to, tensor.bytes, kNarrowNan);
}

/// to[i] = 1 where from[i] is NaN, else 0; back: NaN where mark[i] is not 0.
template <typename Word>
void mark_nan(const void* from, void* to, size_t bytes, Word one) {
  for (size_t i = 0; i < bytes / sizeof(Word); ++i)
    static_cast<Word*>(to)[i] = is_nan(static_cast<const Word*>(from)[i]) ? one : Word{0};
}
template <typename Word>
void set_marked(const void* marks, void* to, size_t bytes, Word nan) {
  for (size_t i = 0; i < bytes / sizeof(Word); ++i)
    if (static_cast<const Word*>(marks)[i] != Word{0}) static_cast<Word*>(to)[i] = nan;
}

/// A product with an activation: where it is NaN without the activation, it is NaN.
class KeepingProduct final : public Executable {
 public:
  KeepingProduct(const PrepareRequest& request, const Prepared& prepared, std::unique_ptr<Executable> whole,
                 Prepared (*prepare)(const Operation&))
      : whole_(std::move(whole)), prepare_(prepare), step_(request.step), plan_(request.plan),
        inputs_(prepared.inputs), outputs_(prepared.outputs), threads_(request.threads), fast_(request.fast_numerics) {
    step_.attributes.erase("activation");
    constant_ = std::make_unique<bool[]>(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) constant_[i] = request.constant[i];
    for (size_t i = 0; i < step_.roles.size(); ++i)
      if (step_.roles[i] == "residual") residual_ = static_cast<int>(i);
  }

  void run(void* const* buffers, void* scratch) override {
    if (!NonFiniteRun::under_way() || !make_bare()) return whole_->run(buffers, scratch);
    const size_t y = inputs_.size();
    std::vector<void*> own(buffers, buffers + y + 1);
    own[y] = result_.get();
    if (residual_ >= 0 && buffers[residual_] == buffers[y]) {
      std::memcpy(result_.get(), buffers[y], outputs_[0].bytes);
      own[static_cast<size_t>(residual_)] = result_.get();
    }
    bare_.executable->run(own.data(), scratch_.get());
    whole_->run(buffers, scratch);
    copy_nan(result_.get(), buffers[y], outputs_[0]);
  }

 private:
  /// The step without its activation, in the same layouts. Made when it is first needed.
  bool make_bare() {
    if (bare_.executable || tried_) return bare_.executable != nullptr;
    tried_ = true;
    try {
      const TeamSize threads(threads_);
      const PrepareRequest request{step_, plan_, inputs_, outputs_, threads_, fast_, {constant_.get(), inputs_.size()}};
      Prepared made = prepare_(Operation(request));
      for (size_t i = 0; i < inputs_.size(); ++i)
        if (!same_format(made.inputs[i], inputs_[i])) return false;
      if (!same_format(made.outputs[0], outputs_[0])) return false;
      result_ = memory_of(outputs_[0].bytes);
      scratch_ = memory_of(made.scratch_bytes);
      if (result_ && scratch_) bare_ = std::move(made);
    } catch (const std::exception&) {
      // What was prepared with the activation is prepared without it; and if memory is short, a number stands for NaN.
    }
    return bare_.executable != nullptr;
  }

  std::unique_ptr<Executable> whole_;
  Prepared (*prepare_)(const Operation&);
  Step step_;
  const Plan& plan_;
  std::vector<TensorSpec> inputs_, outputs_;
  std::unique_ptr<bool[]> constant_;
  int threads_;
  bool fast_;
  int residual_ = -1;
  bool tried_ = false;
  Prepared bare_;
  Memory result_, scratch_;
};

/// A maximum over windows: run on marks, it tells which windows hold NaN.
class KeepingMaximum final : public Executable {
 public:
  KeepingMaximum(const Prepared& prepared, std::unique_ptr<Executable> pool)
      : pool_(std::move(pool)), x_(prepared.inputs[0]), outputs_(prepared.outputs) {}

  void run(void* const* buffers, void* scratch) override {
    pool_->run(buffers, scratch);
    if (all_finite(x_, buffers[0])) return;
    const Memory marks = memory_of(x_.bytes), result = memory_of(outputs_[0].bytes);
    const Memory workspace = memory_of(outputs_.size() > 1 ? outputs_[1].bytes : 0);
    if (!marks || !result || !workspace) return;
    void* const own[] = {marks.get(), result.get(), workspace.get()};
    const bool wide = x_.dtype == DType::float32;
    if (wide) {
      mark_nan<float>(buffers[0], marks.get(), x_.bytes, 1.0F);
    } else {
      mark_nan<uint16_t>(buffers[0], marks.get(), x_.bytes, 0x3F80);
    }
    pool_->run(own, scratch);
    if (wide) {
      set_marked<float>(result.get(), buffers[1], outputs_[0].bytes, std::nanf(""));
    } else {
      set_marked<uint16_t>(result.get(), buffers[1], outputs_[0].bytes, kNarrowNan);
    }
  }

 private:
  std::unique_ptr<Executable> pool_;
  TensorSpec x_;
  std::vector<TensorSpec> outputs_;
};

/// Batch norm with ReLU: where a channel's statistics are NaN, all of the channel is.
class KeepingNorm final : public Executable {
 public:
  KeepingNorm(const Prepared& prepared, std::unique_ptr<Executable> norm)
      : norm_(std::move(norm)), y_(prepared.outputs[0]), y_buffer_(prepared.inputs.size()) {}

  void run(void* const* buffers, void* scratch) override {
    norm_->run(buffers, scratch);
    const auto* mean = static_cast<const float*>(buffers[y_buffer_ + 1]);
    const auto* var = static_cast<const float*>(buffers[y_buffer_ + 2]);
    const auto channels = static_cast<size_t>(y_.dims[1]);
    bool number = true;
    for (size_t c = 0; c < channels; ++c) number &= !std::isnan(mean[c]) && !std::isnan(var[c]);
    if (!number) spread(mean, var, buffers[y_buffer_]);
  }

 private:
  void spread(const float* mean, const float* var, void* y) {
    const DnnlDesc plain = plain_desc(y_.dims);  // computed as float32, whatever y is of
    const auto* format = dynamic_cast<const DnnlFormat*>(y_.format.get());
    const DnnlDesc lies = format ? format->desc() : plain_desc(y_.dims, dnnl_type(y_.dtype));
    if (format && lies.dims() != plain.dims()) return;
    const Memory values = memory_of(plain.get_size());
    if (!values) return;
    dnnl::memory at(lies, dnnl_engine(), y), to(plain, dnnl_engine(), values.get());
    dnnl::stream stream(dnnl_engine());
    dnnl::reorder(at, to).execute(stream, at, to);
    stream.wait();
    const size_t planes = static_cast<size_t>(y_.dims[0] * y_.dims[1]);
    const size_t plane = planes == 0 ? 0 : plain.get_size() / sizeof(float) / planes;
    for (size_t p = 0; p < planes; ++p) {
      const size_t c = p % static_cast<size_t>(y_.dims[1]);
      if (std::isnan(mean[c]) || std::isnan(var[c])) std::fill_n(static_cast<float*>(values.get()) + p * plane, plane, std::nanf(""));
    }
    dnnl::reorder(to, at).execute(stream, to, at);
    stream.wait();
  }

  std::unique_ptr<Executable> norm_;
  TensorSpec y_;
  size_t y_buffer_;
};

bool has_activation(const Step& step) {
  const auto found = step.attributes.find("activation");
  return found != step.attributes.end() && !found->is_null();
}

}  // namespace

Prepared keep_nan(const PrepareRequest& request, Prepared prepared, Prepared (*prepare)(const Operation&)) {
  if (!prepared.executable) return prepared;
  const std::string& op = request.step.op;
  if (op == "max_pool" || op == "max_pool_train") {
    prepared.executable = std::make_unique<KeepingMaximum>(prepared, std::move(prepared.executable));
  } else if (op == "batch_norm_train" && has_activation(request.step)) {
    prepared.executable = std::make_unique<KeepingNorm>(prepared, std::move(prepared.executable));
  } else if (cuts_nan_off(request.step)) {
    prepared.executable = std::make_unique<KeepingProduct>(request, prepared, std::move(prepared.executable), prepare);
  }
  return prepared;
}

}  // namespace sheaf
