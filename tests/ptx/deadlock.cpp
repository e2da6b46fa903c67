// What a block that cannot go on says of its threads.
#include "tests/ptx/block_run.h"

#include <algorithm>

namespace sheaf::ptx {
namespace {

/// "threads 0 to 31, 64 and 70 to 75".
std::string ranges(const std::vector<uint32_t>& threads) {
  std::string text = threads.size() == 1 ? "thread " : "threads ";
  for (size_t i = 0; i < threads.size();) {
    size_t last = i;
    while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1) ++last;
    if (i) text += ", ";
    text += std::to_string(threads[i]);
    if (last > i) text += " to " + std::to_string(threads[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

void BlockRun::report_deadlock() {
  std::map<uint32_t, std::vector<uint32_t>> at_line, missing;
  std::vector<uint32_t> exited;
  for (WarpRun& warp : warps_) {
    const uint32_t left = threads_ - warp.number * kWarpSize;
    const uint32_t existing = left >= kWarpSize ? ~0u : (1u << left) - 1;
    each(existing & ~warp.live, [&](uint32_t lane) { exited.push_back(warp.number * kWarpSize + lane); });
    for (const WarpRun::Split& split : warp.splits()) {
      const Instruction& in = kernel_.code[split.pc];
      uint32_t named = 0;
      each(split.mask, [&](uint32_t lane) {
        at_line[in.line].push_back(warp.number * kWarpSize + lane);
        if (in.kind == Instruction::meet) named |= warp.at<uint32_t>(in.operand[5])[lane];
      });
      each(named & warp.live & ~split.mask, [&](uint32_t lane) { missing[in.line].push_back(warp.number * kWarpSize + lane); });
    }
  }
  fault_.line = at_line.begin()->first;
  fault_.thread = at_line.begin()->second.front();
  fault_.what = "deadlock:";
  for (auto& [line, threads] : at_line) {
    std::sort(threads.begin(), threads.end());
    fault_.what += " " + ranges(threads) + (threads.size() == 1 ? " waits" : " wait") + " at line " + std::to_string(line);
    if (missing.contains(line)) fault_.what += " for " + ranges(missing[line]);
    fault_.what += ";";
  }
  fault_.what +=
      exited.empty() ? " none has ended" : " " + ranges(exited) + (exited.size() == 1 ? " has ended" : " have ended");
}

}  // namespace sheaf::ptx
