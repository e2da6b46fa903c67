// Changes of format: one oneDNN reorder, or two through the plain layout; a GRU's gates are put in order by
// copying.
#include "runtime/cpu/dnnl/dnnl_call.h"
#include "runtime/cpu/ops/ops.h"
#include "runtime/cpu/ops/operation.h"
#include "runtime/cpu/ops/stages.h"

#include <cstring>

namespace sheaf {
namespace {

/// Copies equal parts: the result's part i is the source's part order[i]; `inverse`: the other way round.
struct BlockCopy {
  BufferRef from, to;
  std::vector<int> order;
  size_t block_bytes = 0;
  bool inverse = false;

  void run(void* const* buffers, void* scratch) const {
    const char* source = from.resolve(buffers, scratch);
    char* target = to.resolve(buffers, scratch);
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t a = inverse ? i : order[i], b = inverse ? order[i] : i;
      std::memcpy(target + b * block_bytes, source + a * block_bytes, block_bytes);
    }
  }
};

using ReorderStage = std::variant<BlockCopy, DnnlCall>;

using Reorder = StagedExecutable<ReorderStage>;

/// The steps from one layout to another, with the scratch that they pass through.
class ReorderRoute {
 public:
  void move(const DnnlDesc& from_desc, BufferRef from, const DnnlDesc& to_desc, BufferRef to) {
    const dnnl::reorder::primitive_desc pd(dnnl_engine(), from_desc, dnnl_engine(), to_desc, step_attributes());
    DnnlCall call{dnnl::reorder(pd)};
    const DnnlDesc scratchpad = pd.scratchpad_desc();
    call.argument(DNNL_ARG_FROM, from_desc, from)
        .argument(DNNL_ARG_TO, to_desc, to)
        .argument(DNNL_ARG_SCRATCHPAD, scratchpad, scratch.take(scratchpad.get_size()));
    stages.emplace_back(std::move(call));
    implementation = pd.impl_info_str();
  }

  void to_plain(const DnnlFormat& format, BufferRef from, BufferRef to) {
    if (format.block_order().empty()) return move(format.desc(), from, format.plain(), to);
    const size_t bytes = format.plain().get_size();
    const BufferRef swapped = scratch.take(bytes);
    move(format.desc(), from, format.plain(), swapped);
    copy(swapped, to, format.block_order(), bytes, true);
  }

  void from_plain(BufferRef from, const DnnlFormat& format, BufferRef to) {
    if (format.block_order().empty()) return move(format.plain(), from, format.desc(), to);
    const size_t bytes = format.plain().get_size();
    const BufferRef swapped = scratch.take(bytes);
    copy(from, swapped, format.block_order(), bytes, false);
    move(format.plain(), swapped, format.desc(), to);
  }

  void copy(BufferRef from, BufferRef to, std::vector<int> order, size_t bytes, bool inverse) {
    const size_t block = bytes / order.size();
    stages.emplace_back(BlockCopy{from, to, std::move(order), block, inverse});
  }

  std::vector<ReorderStage> stages;
  ScratchPlan scratch;
  std::string implementation = "copy";
};

Prepared prepare(const TensorSpec& from, const TensorSpec& to, int threads) {
  require(from.dtype == to.dtype && from.dims == to.dims,
          "a reorder can't change " + to_string(from.dims) + " into " + to_string(to.dims));
  const auto* source = dynamic_cast<const DnnlFormat*>(from.format.get());
  const auto* target = dynamic_cast<const DnnlFormat*>(to.format.get());
  require((from.plain() || source) && (to.plain() || target), "a format is not one of the CPU's");
  const BufferRef in{0, 0}, out{1, 0};
  ReorderRoute route;
  const TeamSize scope(threads);
  if (element_count(from) == 0) {
    route.implementation = "empty";
  } else if (same_format(from, to)) {
    route.copy(in, out, {0}, from.bytes, false);
  } else if (source && target && source->block_order() == target->block_order() &&
             same_layout(source->plain(), target->plain())) {
    route.move(source->desc(), in, target->desc(), out);
  } else if (source && target) {
    const BufferRef between = route.scratch.take(source->plain().get_size());
    route.to_plain(*source, in, between);
    route.from_plain(between, *target, out);
  } else if (source) {
    route.to_plain(*source, in, out);
  } else {
    route.from_plain(in, *target, out);
  }
  Prepared prepared;
  prepared.inputs = {from};
  prepared.outputs = {to};
  prepared.scratch_bytes = route.scratch.bytes();
  prepared.implementation = route.implementation;
  prepared.executable = std::make_unique<Reorder>(std::move(route.stages), threads);
  return prepared;
}

}  // namespace

Result<Prepared> prepare_cpu_reorder(const TensorSpec& from, const TensorSpec& to, int threads) {
  try {
    return prepare(from, to, threads);
  } catch (const std::exception& error) {
    auto name = [](const TensorSpec& spec) { return spec.plain() ? std::string("plain") : spec.format->name(); };
    return Error("reorder of " + to_string(from.dims) + " from " + name(from) + " to " + name(to) + ": " + error.what());
  }
}

}  // namespace sheaf
