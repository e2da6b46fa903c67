#include "runtime/cuda/own_kernels.h"

#include "runtime/cuda/kernels/embedded.h"

#include <algorithm>
#include <bit>

namespace sheaf::cuda {
namespace {

constexpr unsigned kBlock = 256;  ///< threads, as the kernels' __launch_bounds__ say

/// Bytes that copies can move at a time: 16, 4 or 1.
size_t unit_of(const void* target, const void* source, const CopyShape& shape) {
  const size_t all = reinterpret_cast<uintptr_t>(target) | reinterpret_cast<uintptr_t>(source) | shape.row_bytes |
                     (shape.rows > 1 ? shape.source_pitch | shape.target_pitch : 0);
  return all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1;
}

}  // namespace

OwnKernels::OwnKernels(Driver& driver, int device)
    : driver_(driver), device_(device),
      most_blocks_(unsigned(std::max(driver.properties(device).multiprocessors, 1)) * 16) {}

OwnKernels::~OwnKernels() {
  for (const Loaded& loaded : modules_) driver_.unload(device_, loaded.module);
}

Result<std::shared_ptr<OwnKernels>> OwnKernels::open(Driver& driver, int device) {
  if (embedded_ptx().empty())
    return Error("this build has none of the project's own CUDA kernels: nvcc was not there; build with CUDA's compiler");
  std::shared_ptr<OwnKernels> kernels(new OwnKernels(driver, device));
  if (auto loaded = kernels->load_copies(); !loaded) return loaded.error();
  return kernels;
}

Result<void> OwnKernels::load_copies() {
  struct {
    const char* name;
    Function& function;
  } const wanted[] = {{"copy_rows_1", copy_rows_[0]},
                      {"copy_rows_4", copy_rows_[1]},
                      {"copy_rows_16", copy_rows_[2]},
                      {"flag_status", flag_status_},
                      {"check_finite", check_finite_}};
  for (const auto& [name, function] : wanted) {
    auto found = find("copy", name);
    if (!found) return found.error();
    function = *found;
  }
  return {};
}

Result<Function> OwnKernels::find(const std::string& file, const std::string& name) {
  const std::scoped_lock lock(loading_);
  auto loaded = std::find_if(modules_.begin(), modules_.end(), [&](const Loaded& entry) { return entry.file == file; });
  if (loaded == modules_.end()) {
    const auto& texts = embedded_ptx();
    const auto text = std::find_if(texts.begin(), texts.end(), [&](const EmbeddedPtx& entry) { return entry.name == file; });
    if (text == texts.end()) return Error("this build has no kernels '" + file + "'");
    auto module = driver_.load(device_, text->text);
    if (!module) return Error("the project's kernels '" + file + "': " + module.error().message());
    modules_.push_back({file, *module});
    loaded = modules_.end() - 1;
  }
  auto function = driver_.function(loaded->module, name);
  if (!function) return Error("the project's kernel '" + name + "': " + function.error().message());
  return function;
}

Result<void> OwnKernels::copy(Stream stream, void* target, const void* source, const CopyShape& shape,
                              const int32_t* guard) const {
  CopyShape dense = shape;
  if (dense.row_bytes == 0 || dense.rows == 0) return {};
  if (dense.rows > 1 && dense.source_pitch == dense.row_bytes && dense.target_pitch == dense.row_bytes) {
    dense.row_bytes *= dense.rows;
    dense.rows = 1;
  }
  const size_t unit = unit_of(target, source, dense);
  uint64_t units = dense.row_bytes / unit, rows = dense.rows;
  uint64_t source_pitch = dense.source_pitch / unit, target_pitch = dense.target_pitch / unit;
  // As many threads side by side in a row as it can use, at most a block.
  uint32_t lane_bits = units >= kBlock ? 8 : uint32_t(std::bit_width(units - 1));
  const uint64_t lanes = uint64_t{1} << lane_bits, rows_at_once = kBlock >> lane_bits;
  Launch launch;
  launch.function = copy_rows_[unit == 16 ? 2 : unit == 4 ? 1 : 0];
  launch.block = kBlock;
  launch.grid[0] = unsigned(std::min<uint64_t>((units + lanes - 1) / lanes, most_blocks_));
  launch.grid[1] = unsigned(std::min<uint64_t>((rows + rows_at_once - 1) / rows_at_once, 65535));
  void* arguments[] = {&target, &source, &units, &rows, &source_pitch, &target_pitch, &lane_bits, &guard};
  launch.arguments = arguments;
  return driver_.launch(stream, launch);
}

Result<void> OwnKernels::flag_status(Stream stream, const int64_t* status, int32_t* flag, int32_t code) const {
  Launch launch;
  launch.function = flag_status_;
  void* arguments[] = {&status, &flag, &code};
  launch.arguments = arguments;
  return driver_.launch(stream, launch);
}

Result<void> OwnKernels::check_finite(Stream stream, const float* x, int32_t* flag, int32_t code) const {
  Launch launch;
  launch.function = check_finite_;
  void* arguments[] = {&x, &flag, &code};
  launch.arguments = arguments;
  return driver_.launch(stream, launch);
}

}  // namespace sheaf::cuda
