#include "runtime/cpu/ops/keep_nan.h"

#include "runtime/cpu/ops/rnn_definition.h"
#include "runtime/machine/invalid_watch.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace sheaf {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Memory memory_of(size_t bytes) {
  Memory memory(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64));
  return memory ? std::move(memory) : throw std::bad_alloc();
}

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

/// Whether all numbers of a tensor are finite: of those that aren't, all bits of the exponent are set.
bool all_finite(const TensorSpec& tensor, const void* data, int threads) {
  const auto all = [&]<typename Word>(const Word* words, Word exponent) {
    std::atomic<bool> finite{true};
    parallel_for(static_cast<int64_t>(tensor.bytes / sizeof(Word)), 1 << 16, threads, [&](int64_t begin, int64_t end) {
      constexpr int64_t kBlock = 4096;  // each without a branch
      for (int64_t at = begin; at < end && finite.load(std::memory_order_relaxed); at += kBlock) {
        Word most = 0;
        for (int64_t i = at; i < std::min(end, at + kBlock); ++i) most = std::max(most, static_cast<Word>(words[i] & exponent));
        if (most == exponent) finite.store(false, std::memory_order_relaxed);
      }
    });
    return finite.load();
  };
  if (tensor.dtype == DType::float32) return all(static_cast<const uint32_t*>(data), uint32_t{0x7F800000});
  return all(static_cast<const uint16_t*>(data), uint16_t{0x7F80});
}

/// An operation that mends its results where there was NaN.
class Keeping : public Executable {
 public:
  explicit Keeping(std::unique_ptr<Executable> operation) : operation_(std::move(operation)) {}
  bool failed(int) const override { return failed_; }
  std::string failure(int) const override {
    return failed_ ? "its data isn't all finite, and which results are NaN could not be found out: " + reason_ : "";
  }

 protected:
  /// Runs what finds NaN, and takes memory for it.
  template <typename Mend>
  void mend(Mend body) {
    try {
      body();
    } catch (const std::bad_alloc&) {
      fail("too little memory");
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  void fail(std::string reason) {
    failed_ = true;
    reason_ = std::move(reason);
  }

  std::unique_ptr<Executable> operation_;
  bool failed_ = false;
  std::string reason_;
};

/// A product with an activation: where it is NaN without the activation, it is NaN.
class KeepingProduct final : public Keeping {
 public:
  KeepingProduct(const Operation& operation, Prepared& prepared, Prepared (*prepare)(const Operation&))
      : Keeping(std::move(prepared.executable)),
        prepare_(prepare),
        step_(operation.request.step),
        plan_(operation.request.plan),
        inputs_(prepared.inputs),
        outputs_(prepared.outputs),
        threads_(operation.request.threads),
        fast_(operation.request.fast_numerics),
        taken_(prepared.selection ? prepared.selection->name() : "") {
    step_.attributes.erase("activation");
    constant_ = std::make_unique<bool[]>(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) constant_[i] = operation.request.constant[i];
    if (operation.has("residual")) residual_ = operation.find("residual");
  }

  void run(void* const* buffers, void* scratch) override {
    failed_ = false;
    // A residual that is summed up in its own place is gone afterwards. Where all of it is finite, no sum is NaN for its sake.
    const bool shared = residual_ >= 0 && buffers[residual_] == buffers[inputs_.size()];
    if (shared && !all_finite(inputs_[size_t(residual_)], buffers[residual_], threads_)) {
      Memory sums;
      mend([&] { sums = without_activation(buffers, buffers[residual_]); });
      operation_->run(buffers, scratch);
      if (sums) copy_nan(sums.get(), buffers[inputs_.size()], outputs_[0]);
      return;
    }
    const InvalidWatch watch;
    operation_->run(buffers, scratch);
    if (!watch.raised()) return;
    mend([&] {
      const Memory sums = without_activation(buffers, residual_ < 0 || shared ? nullptr : buffers[residual_]);
      copy_nan(sums.get(), buffers[inputs_.size()], outputs_[0]);
    });
  }

 private:
  /// The product as it is without the activation, in the same layout. `residual` null: zeros.
  Memory without_activation(void* const* buffers, const void* residual) {
    if (!bare_.executable) {
      const TeamSize threads(threads_);
      PrepareRequest request{step_, plan_, inputs_, outputs_, threads_, fast_, {constant_.get(), inputs_.size()}};
      request.choices = &taken_;
      Prepared made = prepare_(Operation(request));
      bool alike = same_format(made.outputs[0], outputs_[0]);
      for (size_t i = 0; i < inputs_.size(); ++i) alike &= same_format(made.inputs[i], inputs_[i]);
      require(alike, "without its activation the operation wants other layouts");
      bare_ = std::move(made);
    }
    Memory result = memory_of(outputs_[0].bytes);
    const Memory scratch = memory_of(bare_.scratch_bytes);
    std::vector<void*> own(buffers, buffers + inputs_.size());
    own.push_back(result.get());
    if (residual_ >= 0) {
      residual ? std::memcpy(result.get(), residual, outputs_[0].bytes) : std::memset(result.get(), 0, outputs_[0].bytes);
      own[size_t(residual_)] = result.get();
    }
    bare_.executable->run(own.data(), scratch.get());
    return result;
  }

  Prepared (*prepare_)(const Operation&);
  Step step_;
  const Plan& plan_;
  std::vector<TensorSpec> inputs_, outputs_;
  std::unique_ptr<bool[]> constant_;
  int threads_;
  bool fast_;
  OneChoice taken_;  ///< the candidate that the operation with its activation is computed by
  int residual_ = -1;
  Prepared bare_;  ///< made when it is first needed
};

/// A maximum over windows: run on marks, it tells which windows hold NaN.
class KeepingMaximum final : public Keeping {
 public:
  explicit KeepingMaximum(Prepared& prepared)
      : Keeping(std::move(prepared.executable)), x_(prepared.inputs[0]), outputs_(prepared.outputs) {}

  void run(void* const* buffers, void* scratch) override {
    failed_ = false;
    const InvalidWatch watch;
    operation_->run(buffers, scratch);
    if (watch.raised()) mend([&] { mark(buffers, scratch); });
  }

 private:
  void mark(void* const* buffers, void* scratch) {
    const Memory marks = memory_of(x_.bytes), result = memory_of(outputs_[0].bytes);
    const Memory workspace = memory_of(outputs_.size() > 1 ? outputs_[1].bytes : 0);
    void* const own[] = {marks.get(), result.get(), workspace.get()};
    const bool wide = x_.dtype == DType::float32;
    if (wide) {
      mark_nan<float>(buffers[0], marks.get(), x_.bytes, 1.0F);
    } else {
      mark_nan<uint16_t>(buffers[0], marks.get(), x_.bytes, 0x3F80);
    }
    operation_->run(own, scratch);
    if (wide) {
      set_marked<float>(result.get(), buffers[1], outputs_[0].bytes, std::nanf(""));
    } else {
      set_marked<uint16_t>(result.get(), buffers[1], outputs_[0].bytes, kNarrowNan);
    }
  }

  TensorSpec x_;
  std::vector<TensorSpec> outputs_;
};

/// Batch norm with ReLU: where a channel's statistics are NaN, all of the channel is.
class KeepingNorm final : public Keeping {
 public:
  explicit KeepingNorm(Prepared& prepared)
      : Keeping(std::move(prepared.executable)), y_(prepared.outputs[0]), y_buffer_(prepared.inputs.size()) {}

  void run(void* const* buffers, void* scratch) override {
    failed_ = false;
    operation_->run(buffers, scratch);
    const auto* mean = static_cast<const float*>(buffers[y_buffer_ + 1]);
    const auto* var = static_cast<const float*>(buffers[y_buffer_ + 2]);
    const auto channels = static_cast<size_t>(y_.dims[1]);
    bool number = true;
    for (size_t c = 0; c < channels; ++c) number &= !std::isnan(mean[c]) && !std::isnan(var[c]);
    if (!number) mend([&] { spread(mean, var, buffers[y_buffer_]); });
  }

 private:
  void spread(const float* mean, const float* var, void* y) {
    const DnnlDesc plain = plain_desc(y_.dims);  // computed as float32, whatever y is of
    const auto* format = dynamic_cast<const DnnlFormat*>(y_.format.get());
    const DnnlDesc lies = format ? format->desc() : plain_desc(y_.dims, dnnl_type(y_.dtype));
    if (format && lies.dims() != plain.dims()) return;
    const Memory values = memory_of(plain.get_size());
    dnnl::memory at(lies, dnnl_engine(), y), to(plain, dnnl_engine(), values.get());
    dnnl::stream stream(dnnl_engine());
    dnnl::reorder(at, to).execute(stream, at, to);
    stream.wait();
    const size_t planes = static_cast<size_t>(y_.dims[0] * y_.dims[1]);
    const size_t plane = planes == 0 ? 0 : plain.get_size() / sizeof(float) / planes;
    for (size_t p = 0; p < planes; ++p) {
      const size_t c = p % static_cast<size_t>(y_.dims[1]);
      if (std::isnan(mean[c]) || std::isnan(var[c]))
        std::fill_n(static_cast<float*>(values.get()) + p * plane, plane, std::nanf(""));
    }
    dnnl::reorder(to, at).execute(stream, to, at);
    stream.wait();
  }

  TensorSpec y_;
  size_t y_buffer_;
};

/// An RNN with ReLU: computed once more by its definition, it tells what is NaN.
class KeepingRecurrent final : public Keeping {
 public:
  KeepingRecurrent(const Operation& operation, Prepared& prepared)
      : Keeping(std::move(prepared.executable)),
        shape_(rnn_shape(operation, 1, output_dims(operation))),
        at_(rnn_buffers(operation, shape_)),
        inputs_(prepared.inputs) {}

  void run(void* const* buffers, void* scratch) override {
    failed_ = false;
    const InvalidWatch watch;
    operation_->run(buffers, scratch);
    if (!watch.raised()) return;
    mend([&] {
      if (auto done = set_rnn_nan(shape_, at_, inputs_, buffers); !done) fail(done.error().message());
    });
  }

 private:
  RnnShape shape_;
  RnnBuffers at_;
  std::vector<TensorSpec> inputs_;
};

}  // namespace

Prepared keep_nan(const Operation& operation, Prepared prepared, Prepared (*prepare)(const Operation&)) {
  if (operation.nan_cut == NanCut::none || !prepared.executable) return prepared;
  switch (operation.nan_cut) {
    case NanCut::product: prepared.executable = std::make_unique<KeepingProduct>(operation, prepared, prepare); break;
    case NanCut::maximum: prepared.executable = std::make_unique<KeepingMaximum>(prepared); break;
    case NanCut::norm: prepared.executable = std::make_unique<KeepingNorm>(prepared); break;
    case NanCut::recurrent: prepared.executable = std::make_unique<KeepingRecurrent>(operation, prepared); break;
    case NanCut::none: break;
  }
  prepared.can_fail = true;
  return prepared;
}

}  // namespace sheaf
