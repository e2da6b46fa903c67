#include "tests/ptx/float_formats.h"
#include "tests/ptx/plans/plan_kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace sheaf::ptx {

Result<CpuKernelObject> CpuKernelObject::load(const Plan& plan) {
  const std::string level = __builtin_cpu_supports("x86-64-v4") ? "x86-64-v4" : "x86-64-v3";
  for (const auto& [name, bytes] : plan.objects) {
    if (name != level) continue;
    SHEAF_ASSIGN(MemoryObject object, MemoryObject::load(bytes));
    return CpuKernelObject(std::move(object));
  }
  return Error("the plan has no object for " + level);
}

void CpuKernelObject::run(const PlanKernel& kernel, Buffers& buffers) const {
  auto* function =
      reinterpret_cast<void (*)(void* const*, const int64_t*, int64_t, int64_t)>(object_.symbol(kernel.kernel->name));
  std::vector<void*> addresses;
  for (size_t i = 0; i < kernel.dtypes.size(); ++i) addresses.push_back(buffers.data(i));
  function(addresses.data(), kernel.extents.data(), 0, kernel.work);
}

namespace {

/// The ranges that a launch was given.
class GivenMemory final : public Memory {
 public:
  void add(const void* data, size_t bytes, bool writable) {
    ranges_.push_back({reinterpret_cast<uint64_t>(data), bytes, writable});
  }
  void* access(uint64_t address, size_t bytes, bool writes) override {
    for (const Range& range : ranges_)
      if (address >= range.begin && address - range.begin + bytes <= range.bytes && (range.writable || !writes))
        return reinterpret_cast<void*>(address);
    return nullptr;
  }
  std::string explain(uint64_t address, size_t, bool writes) override {
    for (size_t i = 0; i < ranges_.size(); ++i) {
      if (address < ranges_[i].begin || address - ranges_[i].begin > ranges_[i].bytes) continue;
      return "at byte " + std::to_string(address - ranges_[i].begin) + " of the " + std::to_string(ranges_[i].bytes) +
             " of range " + std::to_string(i) + (writes && !ranges_[i].writable ? ", which is only read" : "");
    }
    return "outside of the kernel's buffers";
  }

 private:
  struct Range {
    uint64_t begin;
    size_t bytes;
    bool writable;
  };
  std::vector<Range> ranges_;
};

/// How far results may differ: other orders of sums, other approximations. Relative to `scale()`.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float32: return 1e-5;
    case DType::bfloat16: return 0x1p-7;
    case DType::float16: return 0x1p-10;
    default: return 0;
  }
}

double largest(const Buffers& buffers, size_t i, int64_t elements) {
  double most = 0;
  for (int64_t e = 0; e < elements; ++e)
    if (const double value = std::fabs(buffers.value(i, e)); std::isfinite(value)) most = std::max(most, value);
  return most;
}

/// How large the numbers are of which output i is made: as its largest element. A single number may be a sum that is smaller than its terms.
double scale(const PlanKernel& kernel, const Buffers& expected, size_t i) {
  double most = largest(expected, i, kernel.elements[i]);
  if (kernel.elements[i] > 1) return most;
  for (size_t input = 0; input < kernel.inputs; ++input)
    if (kernel.dtypes[input] == kernel.dtypes[i]) most = std::max(most, largest(expected, input, kernel.elements[input]));
  return most;
}

/// `given`: in place, unwritten elements are the input's, so they don't count.
std::string compare(const PlanKernel& kernel, const Buffers& expected, const Buffers& got, const Buffers* given = nullptr) {
  for (size_t i = kernel.inputs; i < kernel.dtypes.size(); ++i) {
    if (std::memcmp(expected.data(i), got.data(i), got.bytes(i)) == 0) continue;
    const double most = scale(kernel, expected, i);
    for (int64_t e = 0; e < kernel.elements[i]; ++e) {
      const double want = expected.value(i, e), have = got.value(i, e), unwritten = given ? given->value(i, e) : 0;
      if (given && std::bit_cast<uint64_t>(want) == std::bit_cast<uint64_t>(unwritten)) continue;
      if (want == have || (want != want && have != have) || std::fabs(want - have) <= tolerance(kernel.dtypes[i]) * most)
        continue;
      return "output " + std::to_string(i - kernel.inputs) + "[" + std::to_string(e) + "] is " + std::to_string(have) +
             ", not " + std::to_string(want) + " (of numbers up to " + std::to_string(most) + ")";
    }
  }
  return {};
}

}  // namespace

std::string run_on_gpu(const PtxModule& module, const PlanKernel& kernel, const GpuRun& run, const Buffers& given,
                       const Buffers& expected) {
  const size_t count = kernel.dtypes.size();
  Buffers buffers = given;
  std::unique_ptr<Buffers> others;  // of K_many's first row
  std::vector<void*> addresses(count);
  for (size_t i = 0; i < count; ++i) addresses[i] = buffers.data(i);
  if (run.in_place >= 0) {  // the input's values are where the output will be
    const auto [input, output] = kernel.in_place[static_cast<size_t>(run.in_place)];
    const size_t at = kernel.inputs + static_cast<size_t>(output);
    if (buffers.bytes(at) != buffers.bytes(static_cast<size_t>(input))) return "buffers in place have different sizes";
    std::memcpy(buffers.data(at), buffers.data(static_cast<size_t>(input)), buffers.bytes(at));
    addresses[static_cast<size_t>(input)] = buffers.data(at);
  }
  GivenMemory memory;
  int32_t guard = run.held ? 1 : 0;
  memory.add(&guard, sizeof guard, false);
  for (size_t i = count; i-- > 0;) memory.add(buffers.data(i), buffers.bytes(i), i >= kernel.inputs);
  LaunchSize size;
  size.block[0] = static_cast<uint32_t>(kernel.kernel->gpu_block);
  const int64_t items = std::max(1, kernel.kernel->gpu_items);
  size.grid[0] =
      static_cast<uint32_t>(std::min<int64_t>((kernel.gpu_work + items - 1) / items, run.most_blocks)) + run.more_blocks;
  uint64_t guard_address = run.guarded || run.held ? reinterpret_cast<uint64_t>(&guard) : 0;
  std::vector<uint64_t> values, table;
  std::string entry = kernel.kernel->name;
  if (run.many) {
    others = std::make_unique<Buffers>(given);
    for (Buffers* row : {others.get(), &buffers}) {
      table.push_back(static_cast<uint64_t>(kernel.gpu_work));
      for (size_t i = 0; i < count; ++i) {
        table.push_back(reinterpret_cast<uint64_t>(row == &buffers ? addresses[i] : row->data(i)));
        if (row == others.get()) memory.add(row->data(i), row->bytes(i), i >= kernel.inputs);
      }
    }
    memory.add(table.data(), table.size() * sizeof(uint64_t), false);
    entry += "_many";
    size.grid[1] = 2;
    values = {reinterpret_cast<uint64_t>(table.data()), 2, guard_address};
  } else {
    for (void* address : addresses) values.push_back(reinterpret_cast<uint64_t>(address));
    for (int64_t extent : kernel.extents) values.push_back(static_cast<uint64_t>(extent));
    values.push_back(static_cast<uint64_t>(kernel.gpu_work));
    values.push_back(guard_address);
  }
  if (module.parameters(entry).size() != values.size())
    return "entry '" + entry + "' has " + std::to_string(module.parameters(entry).size()) + " parameters, not " +
           std::to_string(values.size());
  std::vector<const void*> arguments;
  for (const uint64_t& value : values) arguments.push_back(&value);
  auto done = module.launch(entry, size, arguments.data(), memory, run.options);
  if (!done) return to_string(done.error());
  if (run.held) {
    for (size_t i = 0; i < count; ++i)
      if (std::memcmp(buffers.data(i), given.data(i), buffers.bytes(i)) != 0) return "it wrote in spite of its guard";
    return {};
  }
  if (others)
    if (std::string wrong = compare(kernel, expected, *others); !wrong.empty()) return "first row: " + wrong;
  return compare(kernel, expected, buffers, run.in_place >= 0 ? &given : nullptr);
}

}  // namespace sheaf::ptx
