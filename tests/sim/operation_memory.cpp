#include "tests/sim/operation_memory.h"

#include <algorithm>

namespace sheaf::sim {
namespace {

uint64_t begin_of(const cuda::Access& access) { return reinterpret_cast<uintptr_t>(access.data); }
uint64_t end_of(const cuda::Access& access) { return begin_of(access) + access.bytes; }

}  // namespace

OperationMemory::OperationMemory(VirtualMemory& memory, const Violation& violation, Name what,
                                 const std::vector<cuda::Access>& accesses)
    : memory_(memory), violation_(violation), what_(std::move(what)) {
  for (const cuda::Access& access : accesses) {
    const bool read = std::any_of(accesses.begin(), accesses.end(), [&](const cuda::Access& other) {
      return !other.writes && begin_of(other) < end_of(access) && begin_of(access) < end_of(other);
    });
    operands_.push_back({access, memory.bytes_of(access.data), access.writes && !read, false});
  }
}

OperationMemory::Operand* OperationMemory::find(uint64_t address, size_t bytes, bool writes) {
  Operand* found = nullptr;
  for (Operand& operand : operands_) {
    if (address < begin_of(operand.access) || address + bytes > end_of(operand.access)) continue;
    if (operand.access.writes == writes) return &operand;
    if (!writes) found = &operand;  // it may read what it wrote
  }
  return found;
}

void* OperationMemory::access(uint64_t address, size_t bytes, bool writes) {
  const auto* data = reinterpret_cast<const void*>(address);
  Operand* operand = find(address, bytes, writes);
  if (!operand) {
    violation_(*what_ + " " + explain(address, bytes, writes));
    return nullptr;
  }
  if (!operand->bytes) return nullptr;  // reported when it was announced
  if (writes) {
    if (operand->fresh && !operand->wrote) memory_.set_written(operand->access.data, operand->access.bytes, false);
    for (Operand& other : operands_) {  // operands that share memory were written too
      other.wrote |= begin_of(other.access) < address + bytes && address < end_of(other.access);
    }
    memory_.set_written(data, bytes, true);
  } else {
    size_t first = 0;
    if (operand->access.writes && operand->fresh && !operand->wrote) {
      violation_(*what_ + " reads an output before it writes it");
    } else if (!memory_.written(data, bytes, &first)) {
      violation_(*what_ + " reads what nobody wrote: byte " + std::to_string(address + first - begin_of(operand->access)) +
                 " of an operand of " + std::to_string(operand->access.bytes));
    }
  }
  return operand->bytes + (address - begin_of(operand->access));
}

std::string OperationMemory::explain(uint64_t address, size_t bytes, bool writes) {
  std::string text = (writes ? "writes " : "reads ") + std::to_string(bytes) + " bytes that it was not announced to touch";
  const Operand* nearest = nullptr;
  for (const Operand& operand : operands_) {
    if (address < begin_of(operand.access)) continue;
    if (!nearest || begin_of(operand.access) > begin_of(nearest->access)) nearest = &operand;
  }
  if (nearest) {
    text += ", " + std::to_string(address - begin_of(nearest->access)) + " bytes into an operand of " +
            std::to_string(nearest->access.bytes) + (nearest->access.writes ? "" : " that it only reads");
  }
  return text;
}

}  // namespace sheaf::sim
