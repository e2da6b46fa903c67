#include "runtime/cpu/ops/conv_pixels.h"

#include "runtime/machine/isa.h"
#include "runtime/cpu/ops/conv_winograd.h"
#include "runtime/cpu/ops/packed_pixels.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/pixel_meetings.h"
#include "runtime/cpu/ops/pixel_operation.h"
#include "runtime/cpu/ops/residual.h"

#include <algorithm>

namespace sheaf {
namespace {

using namespace winograd;

/// What adds to a pixel of the target.
struct Term {
  int64_t source, tap;
};

constexpr size_t most_terms = 64;  ///< that one call of a product adds up

/// y of x, or dx of dy: sums over meetings into the pixels of the target, each made by one thread from beginning to end.
struct PixelsJob {
  const KernelTable* kernels;
  bool gradient;
  int64_t images, in, out;  ///< channels of the source and of the target
  int64_t taps, weight_in, weight_out;
  size_t element;
  std::vector<Term> terms;       ///< by target pixel
  std::vector<size_t> begin_of;  ///< target pixel → first of its terms; one more at the end
  BufferRef source, weight, target, bias;
  bool biased;
  bool packs_weight;  ///< at each run; else the weight comes packed
  Finish finish;
  int threads;
  BufferRef packed, sums, sources;
  size_t sums_bytes = 0;  ///< a member's
  int64_t places = 0;     ///< a member's, for packed pixels of the source; none if products take them as they are

  bool packs() const { return kernels->pack_run; }
  int64_t depth() const { return in / kernels->pair; }
  int64_t panels() const { return (out + kernels->panel - 1) / kernels->panel; }
  int64_t matrix() const { return panels() * kernels->panel * depth(); }
  int64_t places_elements() const { return places * block() * in; }  ///< a member's
  /// Images whose sums for one pixel stay in the second cache; fewer where there are few pixels for the threads.
  int64_t block() const {
    constexpr int64_t least = 28, units = 4;
    const int64_t shared = threads > 1 ? std::max(least, images * pixels() / (units * threads)) : images;
    return std::clamp<int64_t>(64 * 1024 / out, 1, std::min(images, shared));
  }
  int64_t pixels() const { return int64_t(begin_of.size()) - 1; }
  /// Into which the work is cut, to be dealt out to the threads.
  int64_t chunks() const { return items_for(threads); }
};

class PixelsExecutable final : public Executable {
 public:
  PixelsExecutable(ResidualCopy residual, PixelsJob job) : residual_(std::move(residual)), job_(std::move(job)) {}

  void run(void* const* buffers, void* scratch) override {
    set_team_size(job_.threads);
    residual_.run(buffers, scratch);
    if (job_.packs_weight) pack_weight(buffers, scratch);
    const auto* packed = reinterpret_cast<const float*>(job_.packed.resolve(buffers, scratch));
    parallel_items(job_.chunks(), job_.threads, [&](int64_t member, int64_t chunk) {
      auto* sums = reinterpret_cast<float*>(job_.sums.resolve(buffers, scratch) + size_t(member) * job_.sums_bytes);
      auto* places = reinterpret_cast<float*>(job_.sources.resolve(buffers, scratch)) + member * job_.places_elements();
      PackedPixels sources(*job_.kernels, places, job_.places, job_.block() * job_.in);
      const int64_t end = chunk_begin(chunk + 1);
      for (int64_t unit = chunk_begin(chunk); unit < end; ++unit) {
        const int64_t image = unit / job_.pixels() * job_.block();
        make(unit % job_.pixels(), image, std::min(job_.block(), job_.images - image), packed, sums, sources, buffers, scratch);
      }
    });
  }

 private:
  void pack_weight(void* const* buffers, void* scratch) const {
    const char* const weight = job_.weight.resolve(buffers, scratch);
    auto* const packed = reinterpret_cast<float*>(job_.packed.resolve(buffers, scratch));
    const int64_t panels = job_.panels(), panel = job_.kernels->panel;
    parallel_for(job_.taps * panels, 1, job_.threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t tap = i / panels, column = i % panels * panel;
        job_.kernels->pack_weight(weight + size_t(tap * job_.weight_in * job_.weight_out) * job_.element,
                                  packed + tap * job_.matrix(), job_.weight_in, job_.weight_out, job_.gradient, column,
                                  std::min(job_.out, column + panel));
      }
    });
  }

  /// The first unit of a chunk (pixels of the first block of images, of the next, …), so that all have about as many terms.
  int64_t chunk_begin(int64_t chunk) const {
    const int64_t chunks = job_.chunks();
    const size_t of_block = job_.terms.size(), blocks = size_t((job_.images + job_.block() - 1) / job_.block());
    if (chunk == chunks || of_block == 0) return int64_t(blocks) * job_.pixels() * chunk / chunks;
    const size_t term = of_block * blocks * size_t(chunk) / size_t(chunks), block = term / of_block;
    const auto pixel =
        std::lower_bound(job_.begin_of.begin(), job_.begin_of.end() - 1, term % of_block) - job_.begin_of.begin();
    return int64_t(block) * job_.pixels() + pixel;
  }

  void make(int64_t pixel, int64_t image, int64_t images, const float* packed, float* sums, PackedPixels& sources,
            void* const* buffers, void* scratch) const {
    const KernelTable& kernels = *job_.kernels;
    const int64_t depth = job_.depth(), out = job_.out;
    const auto at = [&](BufferRef where, int64_t of, int64_t channels) {
      return where.resolve(buffers, scratch) + size_t((of * job_.images + image) * channels) * job_.element;
    };
    const size_t first = job_.begin_of[size_t(pixel)], end = job_.begin_of[size_t(pixel) + 1];
    if (first == end) std::fill_n(sums, images * out, 0.f);
    const auto operands = [&](const Term& term) {
      return ProductTerm{reinterpret_cast<const float*>(at(job_.source, term.source, job_.in)),
                         packed + term.tap * job_.matrix()};
    };
    Product product{images, out, depth, nullptr, depth, 1, nullptr, kernels.panel * depth, kernels.panel, sums, out, false};
    product.then_a_bytes = images * job_.in * int64_t(job_.element);
    product.then_b_bytes = kernels.panel * depth * int64_t(sizeof(float));
    ProductTerm terms[most_terms];
    for (size_t i = first; i < end; product.accumulate = true) {
      size_t count = 0;
      sources.begin();
      for (; i < end && count < most_terms; ++i, ++count) {
        terms[count] = operands(job_.terms[i]);
        if (job_.packs()) terms[count].a = sources.get(terms[count].a, images * job_.in);
      }
      const ProductTerm next = i < job_.terms.size() ? operands(job_.terms[i]) : ProductTerm{nullptr, nullptr};
      product.then_a = next.a;
      product.then_b = next.b;
      kernels.multiply_terms(product, terms, int64_t(count));
    }
    Finish finish = job_.finish;
    if (job_.biased) finish.bias = reinterpret_cast<const float*>(job_.bias.resolve(buffers, scratch));
    kernels.finish_sums(sums, at(job_.target, pixel, out), images, out, finish);
  }

  ResidualCopy residual_;
  PixelsJob job_;
};

Prepared prepare(const Operation& operation, const ConvShape& g, bool gradient, Operands operands) {
  const DnnlDims &source = gradient ? g.y : g.x, &target = gradient ? g.x : g.y;
  const auto type = operation.data_type();
  const char* role = source_role(operation, gradient ? ConvResult::dx : ConvResult::y);
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find(role))] = pixels_tensor(source, type);
  prepared.outputs[0] = pixels_tensor(target, type);
  PixelsJob job;
  job.kernels = pixel_kernels(operation, /*narrow=*/true, operands);
  job.packs_weight = !operation.constant("weight") || operands == Operands::split;
  prepared.inputs[size_t(operation.find("weight"))] =
      job.packs_weight ? taps_tensor(g.weight, type)
                       : panels_tensor(g.weight, type, gradient, job.kernels->panel, job.kernels->pair);
  job.gradient = gradient;
  job.images = g.x[0];
  job.in = source[1];
  job.out = target[1];
  job.taps = g.weight[2] * g.weight[3];
  job.weight_in = g.x[1];
  job.weight_out = g.y[1];
  job.element = dnnl::memory::data_type_size(type);
  std::vector<std::vector<Term>> terms(size_t(target[2] * target[3]));
  for (const Meeting& meeting : meetings(g)) {
    terms[size_t(gradient ? meeting.x : meeting.y)].push_back({gradient ? meeting.y : meeting.x, meeting.tap});
  }
  size_t most_of_a_pixel = 0;
  for (const std::vector<Term>& of_pixel : terms) {
    most_of_a_pixel = std::max(most_of_a_pixel, of_pixel.size());
    job.begin_of.push_back(job.terms.size());
    job.terms.insert(job.terms.end(), of_pixel.begin(), of_pixel.end());
  }
  job.begin_of.push_back(job.terms.size());
  job.source = operation.input_buffer(role);
  job.weight = operation.input_buffer("weight");
  job.target = operation.output_buffer();
  job.biased = !g.bias.empty();
  if (job.biased) job.bias = operation.input_buffer("bias");
  job.threads = operation.request.threads;
  ResidualCopy residual;
  if (!operation.has("dy")) {
    residual = ResidualCopy(operation, pixels_desc(target, type), prepared);
    job.finish = pixel_finish(operation);
  }
  ScratchPlan scratch;
  job.packed = job.packs_weight ? scratch.take(size_t(job.taps * job.matrix()) * sizeof(float)) : job.weight;
  job.sums_bytes = size_t(job.block() * job.out) * sizeof(float);
  job.sums = scratch.take(job.sums_bytes * size_t(job.threads));
  if (job.packs()) {
    static_assert(most_terms + most_terms / 2 <= size_t(PackedPixels::most));
    const size_t terms_of_call = std::min(most_terms, most_of_a_pixel);
    job.places = int64_t(terms_of_call + terms_of_call / 2);  // and those that the pixels just made saw
    job.sources = scratch.take(size_t(job.places_elements() * job.threads) * sizeof(float));
  }
  prepared.scratch_bytes = scratch.bytes();
  prepared.implementation = std::string("pixels, ") + job.kernels->instructions;
  prepared.reason = reason_of(pixels_reason(), operands);
  prepared.executable = std::make_unique<PixelsExecutable>(std::move(residual), std::move(job));
  return prepared;
}

}  // namespace

Prepared prepare_conv_pixels(const Operation& operation, const ConvShape& g, Operands operands) {
  return prepare(operation, g, false, operands);
}

Prepared prepare_conv_backward_data_pixels(const Operation& operation, const ConvShape& g, Operands operands) {
  return prepare(operation, g, true, operands);
}

}  // namespace sheaf
