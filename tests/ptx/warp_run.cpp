#include "tests/ptx/warp_run.h"

#include <algorithm>

namespace sheaf::ptx {

bool WarpRun::pick(uint32_t& pc, uint32_t& mask, uint32_t& limit) {
  pc = limit = ~0u;
  for (const Split& split : splits())
    if (split.state == Split::ready) pc = std::min(pc, split.pc);
  if (pc == ~0u) return false;
  for (const Split& split : splits())  // those behind wake first, and may come to meet the others
    if (split.state == Split::asleep && split.pc <= pc) return false;
  mask = 0;
  for (size_t i = 0; i < count_;) {
    Split& split = splits_[i];
    if (split.state == Split::ready && split.pc == pc) {
      mask |= split.mask;
      split = splits_[--count_];
    } else {
      if (split.state == Split::ready) limit = std::min(limit, split.pc);
      ++i;
    }
  }
  return true;
}

bool WarpRun::all_met(const Instruction& in, uint32_t pc, uint32_t& mask) {
  for (size_t i = 0; i < count_;) {
    if (splits_[i].state == Split::meeting && splits_[i].pc == pc) {
      mask |= splits_[i].mask;
      splits_[i] = splits_[--count_];
    } else {
      ++i;
    }
  }
  const uint32_t* members = at<uint32_t>(in.operand[5]);
  uint32_t named = 0;
  for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    if (!(members[lane] >> lane & 1)) {
      fail(in, lane, "the mask of threads that meet lacks the thread itself");
      return false;
    }
    named |= members[lane];
  }
  return !(named & live & ~mask);
}

void WarpRun::leave_indexed(const Instruction& in, uint32_t pc, uint32_t mask) {
  const uint32_t* index = at<uint32_t>(in.operand[0]);
  while (mask) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    if (index[lane] >= static_cast<uint64_t>(in.immediate)) {
      fail(in, lane, "brx.idx: index " + std::to_string(index[lane]) + " of " + std::to_string(in.immediate) + " targets");
      return;
    }
    uint32_t same = 0;
    each(mask, [&](uint32_t other) { same |= uint32_t{index[other] == index[lane]} << other; });
    push(block->kernel->targets[in.target + index[lane]], same);
    mask &= ~same;
  }
}

Step WarpRun::run(uint64_t& budget) {
  const Instruction* code = block->kernel->code.data();
  fault.what.clear();
  uint32_t pc, mask, limit;
  while (pick(pc, mask, limit)) {
    const uint64_t before = budget;
    const auto threads = static_cast<uint64_t>(std::popcount(mask));
    bool stay = true;
    while (stay) {
      const Instruction& in = code[pc];
      if (budget == 0)
        return fail(in, static_cast<uint32_t>(std::countr_zero(mask)),
                    "the launch takes more instructions than its limit: it hangs");
      --budget;
      uint32_t lanes = mask;
      if (in.guard != kNone) {
        const uint32_t value = predicate(in.guard);
        lanes &= in.guard_negated ? ~value : value;
      }
      switch (in.kind) {
        case Instruction::plain:
          if (lanes && in.handler(*this, in, lanes) == Step::fault) return Step::fault;
          ++pc;
          break;
        case Instruction::branch:
          if (lanes == mask) {
            pc = in.target;
          } else if (lanes == 0) {
            ++pc;
          } else {
            push(in.target, lanes);
            push(pc + 1, mask & ~lanes);
            stay = false;
          }
          break;
        case Instruction::indexed:
          push(pc + 1, mask & ~lanes);
          leave_indexed(in, pc, lanes);
          if (!fault.what.empty()) return Step::fault;
          stay = false;
          break;
        case Instruction::exit:
          live &= ~lanes;
          push(pc + 1, mask & ~lanes);
          // Threads that waited for exited ones check again.
          for (Split& split : splits())
            if (split.state == Split::meeting) split.state = Split::ready;
          stay = false;
          break;
        case Instruction::sleep:
          push(pc + 1, lanes, Split::asleep);
          push(pc + 1, mask & ~lanes);
          stay = false;
          break;
        case Instruction::meet:
        case Instruction::barrier:
          if (lanes != mask) {
            push(pc + 1, mask & ~lanes);
            push(pc, lanes);
            stay = false;
          } else if (in.kind == Instruction::barrier) {
            push(pc, mask, Split::at_barrier);
            stay = false;
          } else if (all_met(in, pc, mask)) {
            if (in.handler(*this, in, mask) == Step::fault) return Step::fault;
            push(pc + 1, mask);
            stay = false;
          } else {
            if (!fault.what.empty()) return Step::fault;
            push(pc, mask, Split::meeting);
            stay = false;
          }
          break;
      }
      if (stay && pc >= limit) {
        push(pc, mask);
        stay = false;
      }
    }
    thread_instructions += (before - budget) * threads;
  }
  return Step::next;
}

}  // namespace sheaf::ptx
