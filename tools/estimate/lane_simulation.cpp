#include "tools/estimate/lane_simulation.h"

#include <algorithm>
#include <limits>

namespace sheaf {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Simulation {
 public:
  Simulation(const std::vector<double>& operations, const std::vector<Transfer>& transfers)
      : operations_(operations), transfers_(transfers), waits_(operations.size(), 0) {
    for (const Transfer& transfer : transfers)
      if (static_cast<size_t>(transfer.before) < operations.size()) ++waits_[static_cast<size_t>(transfer.before)];
    result_.begun.resize(transfers.size());
    result_.completed.resize(transfers.size());
  }

  Simulated run() {
    while (operation_ < operations_.size() || transfer_ < transfers_.size()) {
      if (next_free_part()) continue;
      const bool computes = operation_ < operations_.size() && waits_[operation_] == 0;
      const bool moves = moves_now();
      const double share = moves ? 1 - part().occupies : 1;
      const double compute = computes && share > 0 ? left(operations_[operation_], computed_) / share : kNever;
      const double move = moves ? left(part().seconds, moved_) : kNever;
      const double step = std::min(compute, move);
      if (step == kNever) break;  // the order can't be carried out
      result_.seconds += step;
      if (computes) computed_ += step * share;
      if (moves) moved_ += step;
      if (compute <= move) {
        ++operation_;
        computed_ = 0;
      }
      if (move <= compute) end_part();
    }
    return std::move(result_);
  }

 private:
  static double left(double all, double done) { return std::max(0.0, all - done); }
  const TransferPart& part() const { return transfers_[transfer_].cost.parts[part_]; }
  bool moves_now() const { return transfer_ < transfers_.size() && static_cast<int>(operation_) > transfers_[transfer_].after; }

  /// A transfer without parts is done as soon as it may begin.
  bool next_free_part() {
    if (!moves_now() || !transfers_[transfer_].cost.parts.empty()) {
      if (moves_now() && part_ == 0 && moved_ == 0) result_.begun[transfer_] = static_cast<int>(operation_);
      return false;
    }
    result_.begun[transfer_] = static_cast<int>(operation_);
    complete();
    return true;
  }

  void end_part() {
    moved_ = 0;
    if (++part_ == transfers_[transfer_].cost.parts.size()) complete();
  }

  void complete() {
    const Transfer& transfer = transfers_[transfer_];
    if (static_cast<size_t>(transfer.before) < operations_.size()) --waits_[static_cast<size_t>(transfer.before)];
    result_.completed[transfer_++] = static_cast<int>(operation_);
    part_ = 0;
  }

  const std::vector<double>& operations_;
  const std::vector<Transfer>& transfers_;
  std::vector<int> waits_;  ///< by operation: transfers it still waits for
  Simulated result_;
  size_t operation_ = 0, transfer_ = 0, part_ = 0;
  double computed_ = 0, moved_ = 0;  ///< finished seconds of the operation, and of the part
};

}  // namespace

Simulated simulate(const std::vector<double>& operations, const std::vector<Transfer>& transfers) {
  return Simulation(operations, transfers).run();
}

}  // namespace sheaf
