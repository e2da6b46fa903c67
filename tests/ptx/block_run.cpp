#include "tests/ptx/block_run.h"
#include "tests/ptx/races.h"

#include <algorithm>

namespace sheaf::ptx {
namespace {

// Contents of unwritten memory: recognisable bytes.
constexpr int kUnwritten = 0xa5;

std::unique_ptr<std::byte[]> unwritten(size_t bytes) {
  auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes + 64);
  std::memset(memory.get(), kUnwritten, bytes + 64);
  return memory;
}

std::byte* aligned(const std::unique_ptr<std::byte[]>& memory) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.get()) + 63) / 64 * 64);
}

}  // namespace

BlockRun::BlockRun(const Program& program, const Kernel& kernel, const LaunchSize& size, const void* const* arguments,
                   Memory& memory, RaceDetector* races)
    : kernel_(kernel), threads_(size.block[0] * size.block[1] * size.block[2]), warps_((threads_ + kWarpSize - 1) / kWarpSize) {
  registers_ = unwritten(kernel.register_bytes * warps_.size());
  local_ = unwritten(kernel.local_bytes * kWarpSize * warps_.size());
  state_.shared_bytes = size.shared_bytes ? kDynamicShared + size.shared_bytes : kernel.shared_bytes;
  shared_ = unwritten(state_.shared_bytes);
  parameters_ = unwritten(kernel.parameter_bytes);
  state_.program = &program;
  state_.kernel = &kernel;
  state_.memory = &memory;
  state_.races = races;
  state_.parameters = aligned(parameters_);
  state_.shared = aligned(shared_);
  state_.grid = size.grid;
  state_.block = size.block;
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(state_.parameters + kernel.parameter_offsets[i], arguments[i], kernel.parameters[i].bytes);
  for (uint32_t i = 0; i < warps_.size(); ++i) {
    warps_[i].block = &state_;
    warps_[i].number = i;
    warps_[i].registers = aligned(registers_) + kernel.register_bytes * i;
    warps_[i].local = aligned(local_) + kernel.local_bytes * kWarpSize * i;
    fill_registers(warps_[i]);
  }
}

void BlockRun::fill_registers(WarpRun& warp) {
  for (const Kernel::Constant& constant : kernel_.constants) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      switch (constant.bytes) {
        case 0: warp.predicate(constant.place) = static_cast<uint32_t>(constant.bits); break;
        case 1: warp.at<uint8_t>(constant.place)[lane] = static_cast<uint8_t>(constant.bits); break;
        case 2: warp.at<uint16_t>(constant.place)[lane] = static_cast<uint16_t>(constant.bits); break;
        case 4: warp.at<uint32_t>(constant.place)[lane] = static_cast<uint32_t>(constant.bits); break;
        default: warp.at<uint64_t>(constant.place)[lane] = constant.bits; break;
      }
    }
  }
  for (auto [special, place] : kernel_.specials) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      const uint32_t thread = warp.number * kWarpSize + lane, bit = 1u << lane;
      const uint32_t values[] = {
          thread % state_.block[0],
          thread / state_.block[0] % state_.block[1],
          thread / state_.block[0] / state_.block[1],
          state_.block[0],
          state_.block[1],
          state_.block[2],
          0,
          0,
          0,
          state_.grid[0],
          state_.grid[1],
          state_.grid[2],
          lane,
          warp.number,
          static_cast<uint32_t>(warps_.size()),
          bit,
          bit | (bit - 1),
          bit - 1,
          ~(bit - 1),
          ~(bit | (bit - 1)),
          static_cast<uint32_t>(state_.shared_bytes > kDynamicShared ? state_.shared_bytes - kDynamicShared : 0)};
      warp.at<uint32_t>(place)[lane] = values[static_cast<size_t>(special)];
    }
  }
}

void BlockRun::fill_block(WarpRun& warp) {
  constexpr Special specials[] = {Special::ctaid_x, Special::ctaid_y, Special::ctaid_z};
  for (size_t i = 0; i < 3; ++i)
    if (auto found = kernel_.specials.find(specials[i]); found != kernel_.specials.end())
      std::fill_n(warp.at<uint32_t>(found->second), kWarpSize, state_.index[i]);
}

uint64_t BlockRun::thread_instructions() const {
  uint64_t sum = 0;
  for (const WarpRun& warp : warps_) sum += warp.thread_instructions;
  return sum;
}

uint32_t BlockRun::live_threads() const {
  uint32_t live = 0;
  for (const WarpRun& warp : warps_) live += static_cast<uint32_t>(std::popcount(warp.live));
  return live;
}

Step BlockRun::run(uint64_t number, uint64_t& budget) {
  if (state_.races) state_.races->next_block();
  start(number);
  while (true) {
    const Step step = go_on(budget);
    if (step != Step::asleep) return step;
  }
}

void BlockRun::start(uint64_t number) {
  const uint64_t x = state_.grid[0], y = state_.grid[1];
  state_.index = {static_cast<uint32_t>(number % x), static_cast<uint32_t>(number / x % y),
                  static_cast<uint32_t>(number / x / y)};
  state_.block_number = number;
  state_.epoch = 0;
  std::memset(state_.shared, kUnwritten, state_.shared_bytes);
  for (WarpRun& warp : warps_) {
    fill_block(warp);
    const uint32_t left = threads_ - warp.number * kWarpSize;
    warp.start(left >= kWarpSize ? ~0u : (1u << left) - 1);
  }
}

Step BlockRun::go_on(uint64_t& budget) {
  do {
    for (WarpRun& warp : warps_) {
      if (warp.run(budget) == Step::fault) {
        fault_ = warp.fault;
        return Step::fault;
      }
    }
    if (live_threads() == 0) return Step::next;
  } while (release_barriers());
  if (fault_.what.empty() && wake()) return Step::asleep;
  if (fault_.what.empty()) report_deadlock();
  return Step::fault;
}

bool BlockRun::wake() {
  bool any = false;
  for (WarpRun& warp : warps_) {
    for (WarpRun::Split& split : warp.splits()) {
      if (split.state != WarpRun::Split::asleep) continue;
      split.state = WarpRun::Split::ready;
      any = true;
    }
  }
  return any;
}

bool BlockRun::release_barriers() {
  constexpr uint32_t kBarriers = 16;
  bool any = false;
  for (uint32_t barrier = 0; barrier < kBarriers && fault_.what.empty(); ++barrier) any |= release(barrier);
  return any && fault_.what.empty();
}

bool BlockRun::release(uint32_t barrier) {
  waiting_.clear();
  uint32_t arrived = 0;
  uint64_t expected = live_threads();
  const Instruction* first = nullptr;
  for (WarpRun& warp : warps_) {
    for (WarpRun::Split& split : warp.splits()) {
      if (split.state != WarpRun::Split::at_barrier) continue;
      const Instruction& in = kernel_.code[split.pc];
      const auto lane = static_cast<uint32_t>(std::countr_zero(split.mask));
      const uint32_t named = warp.at<uint32_t>(in.operand[1])[lane];
      if (named >= 16) {
        warp.fail(in, lane, "barrier " + std::to_string(named) + ": there are 16");
        fault_ = warp.fault;
        return false;
      }
      if (named != barrier) continue;
      if (in.operand[2] != kNone) expected = warp.at<uint32_t>(in.operand[2])[lane];
      if (!first) first = &in;
      if (first->mode != in.mode) {
        warp.fail(in, lane,
                  "a barrier of another kind than the one at line " + std::to_string(first->line) + ", at the same time");
        fault_ = warp.fault;
        return false;
      }
      waiting_.push_back({&warp, &split});
      arrived += static_cast<uint32_t>(std::popcount(split.mask));
    }
  }
  if (!first || arrived < expected) return false;
  for (size_t i = 1; i < waiting_.size(); ++i) {
    const Instruction& in = kernel_.code[waiting_[i].split->pc];
    if (waiting_[i].warp == waiting_[i - 1].warp && in.wide) {
      waiting_[i].warp->fail(in, static_cast<uint32_t>(std::countr_zero(waiting_[i].split->mask)),
                             "threads of one warp wait at different barrier instructions, here and at line " +
                                 std::to_string(kernel_.code[waiting_[i - 1].split->pc].line));
      fault_ = waiting_[i].warp->fault;
      return false;
    }
  }
  finish(waiting_, *first);
  if (first->operand[2] == kNone) ++state_.epoch;
  return true;
}

void BlockRun::finish(std::span<const Waiting> waiting, const Instruction& first) {
  const auto kind = static_cast<Barrier>(first.mode);
  uint32_t set = 0, all = 0;
  if (kind != Barrier::sync) {
    for (const Waiting& w : waiting) {
      all += static_cast<uint32_t>(std::popcount(w.split->mask));
      set += static_cast<uint32_t>(std::popcount(w.split->mask & w.warp->predicate(kernel_.code[w.split->pc].operand[3])));
    }
  }
  for (const Waiting& w : waiting) {
    const Instruction& in = kernel_.code[w.split->pc];
    if (kind == Barrier::popc) each(w.split->mask, [&](uint32_t lane) { w.warp->at<uint32_t>(in.operand[0])[lane] = set; });
    if (kind == Barrier::all) set_predicate(*w.warp, in.operand[0], w.split->mask, set == all ? ~0u : 0);
    if (kind == Barrier::any) set_predicate(*w.warp, in.operand[0], w.split->mask, set ? ~0u : 0);
    ++w.split->pc;
    w.split->state = WarpRun::Split::ready;
  }
}

}  // namespace sheaf::ptx
