// How many threads work on an item, by its size.
#include "codegen/kernels/gpu_schedule.h"
#include "codegen/kernels/loops.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace sheaf::kernels {
namespace {
constexpr int64_t threads_of_a_warp = 32;

int64_t power_of_two(int64_t count) {
  return static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(count, 1))));
}
}  // namespace

GpuSchedule gpu_rows(const Extent& size) {
  const int64_t count = typical_gpu_size(size);
  if (count > 16384) return {.block = 1024, .lanes = 1024, .size = count};
  if (count > 1024) return {.block = 256, .lanes = 256, .size = count};
  return {.block = 128, .lanes = static_cast<int>(power_of_two(std::min(threads_of_a_warp, count))), .size = count};
}

GpuSchedule rows_by_vectors(GpuSchedule schedule, int width) {
  // Two vectors or more for each lane.
  const int64_t lanes = std::max<int64_t>(schedule.size / (int64_t{2} * width), 1);
  schedule.width = width;
  schedule.block = 128;
  for (int whole : {128, 256, 1024})
    if (lanes >= whole) schedule.block = whole;
  const auto together = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(lanes)));
  schedule.lanes = lanes >= schedule.block ? schedule.block : static_cast<int>(std::min(together, threads_of_a_warp));
  return schedule;
}

GpuSchedule gpu_columns(const Extent& columns, const Extent& size) {
  constexpr int64_t most = 1024;
  GpuSchedule schedule{.columns = true, .size = typical_gpu_size(size), .across = typical_gpu_size(columns)};
  const int64_t side_by_side = power_of_two(std::min(threads_of_a_warp, schedule.across));
  // At least 8 iterations for each lane; if there are many columns, they alone give enough threads.
  const int64_t room = schedule.across >= 8192 ? 8 : most / side_by_side;
  schedule.lanes = static_cast<int>(std::clamp(power_of_two(schedule.size / 8), int64_t{1}, room));
  if (schedule.lanes > 1) schedule.block = static_cast<int>(schedule.lanes * side_by_side);
  return schedule;
}

GpuSchedule columns_by_vectors(GpuSchedule schedule, int width) {
  constexpr int64_t block = 512, enough = 132 * 1024;  // threads: of a block, which may have 128 registers each; of the device
  schedule.width = schedule.each = width;
  const int64_t vectors = llvm::divideCeil(schedule.across, int64_t{width});
  // 64 bytes of a row for neighbouring threads; 32 if there are few columns, so that there are more blocks.
  const int64_t side_by_side = std::min<int64_t>(vectors < 128 ? 2 : 4, power_of_two(vectors));
  const int64_t room = std::min(block / side_by_side, power_of_two(enough / vectors));
  schedule.lanes = static_cast<int>(std::clamp(power_of_two(schedule.size / 8), int64_t{1}, room));
  schedule.block = schedule.lanes == 1 ? 256 : static_cast<int>(std::max<int64_t>(schedule.lanes * side_by_side, 128));
  return schedule;
}

}  // namespace sheaf::kernels
