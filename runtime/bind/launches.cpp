#include "runtime/bind/launches.h"

#include "runtime/bind/touched.h"

#include <algorithm>

namespace sheaf {
namespace {

class LaunchForming {
 public:
  LaunchForming(LaneProgram& lane, const std::vector<std::vector<OperandRange>>& operands, Device& device)
      : lane_(lane), operands_(operands), device_(device) {}

  std::vector<std::unique_ptr<Executable>> merge() {
    const auto count = static_cast<uint32_t>(lane_.operations.size());
    for (uint32_t first = 0; first < count;) {
      uint32_t end = first + 1;
      std::unique_ptr<Executable> merged;
      if (const uint32_t most = candidates(first); most > end) merged = longest(first, most, end);
      lane_.launches.push_back({first, end, merged.get()});
      if (merged) merged_.push_back(std::move(merged));
      first = end;
    }
    return std::move(merged_);
  }

  void segment() {
    const auto count = static_cast<uint32_t>(lane_.launches.size());
    for (uint32_t first = 0; first < count;) {
      uint32_t end = first;
      while (end < count && recordable(lane_.launches[end]) && (end == first || !waits(end)) &&
             (end == first || (!signals(end - 1) && lane_.launches[end].first != lane_.first_part)))
        ++end;
      if (end - first > 1) {  // a single launch gains nothing
        LaneSegment segment{first, end};
        for (uint32_t l = first; l < end; ++l) segment.commits |= lane_.operations[lane_.launches[l].first].commits;
        lane_.segments.push_back(std::move(segment));
      }
      first = std::max(end, first + 1);
    }
  }

 private:
  const LaneOperation& operation(uint32_t i) const { return lane_.operations[i]; }

  bool callers(uint32_t i) const {
    return std::any_of(operands_[i].begin(), operands_[i].end(), [](const OperandRange& range) { return !range.begin; });
  }

  bool mergeable(uint32_t i) const {
    return operation(i).kind == LaneOperation::launch && !operation(i).can_fail && operation(i).collective < 0 && !callers(i) &&
           std::ranges::none_of(operands_[i], &OperandRange::moves);
  }

  /// The end of the run from `first` that has no wait or signal inside and could execute in any order.
  uint32_t candidates(uint32_t first) const {
    uint32_t end = first;
    Touched touched;
    while (end < lane_.operations.size() && mergeable(end) && operation(end).commits == operation(first).commits &&
           operation(end).guarded == operation(first).guarded && touched.allows(operands_[end])) {
      if (end > first && (operation(end).first_wait != operation(end).end_wait || operation(end - 1).signal)) break;
      if (end > first && end == lane_.first_part) break;
      touched.add(operands_[end++]);
    }
    return end;
  }

  std::unique_ptr<Executable> merged(uint32_t first, uint32_t end) const {
    std::vector<Executable*> parts;
    for (uint32_t i = first; i < end; ++i) parts.push_back(operation(i).executable);
    return device_.merge(parts);
  }

  /// As many operations of [first, most) as the device merges; `end` is where they end.
  std::unique_ptr<Executable> longest(uint32_t first, uint32_t most, uint32_t& end) const {
    std::unique_ptr<Executable> best = merged(first, first + 2);
    if (!best) return nullptr;
    end = first + 2;
    for (uint32_t beyond = most + 1; end + 1 < beyond;) {  // operations before `end` merge, those before `beyond` don't
      const uint32_t middle = beyond == most + 1 ? most : end + (beyond - end) / 2;
      if (auto more = merged(first, middle)) {
        best = std::move(more);
        end = middle;
      } else {
        beyond = middle;
      }
    }
    return best;
  }

  bool waits(uint32_t launch) const {
    const LaneOperation& first = operation(lane_.launches[launch].first);
    return first.first_wait != first.end_wait;
  }
  bool signals(uint32_t launch) const { return operation(lane_.launches[launch].end - 1).signal != 0; }

  /// Bytes of a copy from or to the caller's memory that recordings of the queue may hold, of which there are two where inputs
  /// have two places; else 0.
  size_t transferred(const LaneOperation& one) const {
    if (!lane_.transfers) return 0;
    if (one.delivers) return 2 * one.copy_shape.rows * one.copy_shape.row_bytes;
    if (one.kind != LaneOperation::fetch) return 0;
    size_t bytes = 0;
    for (uint32_t i = one.first_part; i < one.end_part; ++i)
      bytes = std::max(bytes, lane_.parts[i].offset + lane_.parts[i].bytes);
    return bytes <= RecordsTransfers::kMostBytes ? 2 * bytes : 0;
  }

  bool recordable(const LaneLaunch& launch) {
    if (launch.merged) return launch.merged->recordable();
    const LaneOperation& one = operation(launch.first);
    if (const size_t bytes = transferred(one); bytes > 0 && transfers_left_ >= bytes) {
      transfers_left_ -= bytes;
      return true;
    }
    if (one.collective >= 0 || callers(launch.first)) return false;
    if (one.kind == LaneOperation::launch) return one.executable->recordable();
    const auto& operands = operands_[launch.first];
    return one.kind == LaneOperation::copy &&
           std::all_of(operands.begin(), operands.end(), [](const OperandRange& range) { return range.local; });
  }

  LaneProgram& lane_;
  const std::vector<std::vector<OperandRange>>& operands_;
  Device& device_;
  std::vector<std::unique_ptr<Executable>> merged_;
  size_t transfers_left_ = RecordsTransfers::kMostBytesOfAll;
};

}  // namespace

std::vector<std::unique_ptr<Executable>> form_launches(LaneProgram& lane,
                                                       const std::vector<std::vector<OperandRange>>& operands, Device& device,
                                                       bool record) {
  LaunchForming forming(lane, operands, device);
  auto merged = forming.merge();
  if (record && lane.queue->records()) {
    lane.transfers = dynamic_cast<RecordsTransfers*>(lane.queue.get());
    forming.segment();
  }
  return merged;
}

}  // namespace sheaf
