#include "runtime/bind/finite_search.h"

namespace sheaf {
namespace {

/// `Word` holds numbers whose exponent is `exponent`: with all of its bits set, a number is infinite or NaN.
template <typename Word>
bool all_finite(const void* data, size_t bytes, Word exponent, bool allow_negative_infinity) {
  constexpr Word sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  const auto* numbers = static_cast<const Word*>(data);
  for (size_t i = 0; i < bytes / sizeof(Word); ++i) {
    if ((numbers[i] & exponent) != exponent) continue;
    if (!allow_negative_infinity || numbers[i] != static_cast<Word>(sign | exponent)) return false;
  }
  return true;
}

bool all_finite(DType dtype, const void* data, size_t bytes, bool allow_negative_infinity) {
  if (dtype == DType::float32) return all_finite<uint32_t>(data, bytes, 0x7F800000U, allow_negative_infinity);
  if (dtype == DType::bfloat16) return all_finite<uint16_t>(data, bytes, 0x7F80, allow_negative_infinity);
  return all_finite<uint16_t>(data, bytes, 0x7C00, allow_negative_infinity);
}

/// The earliest finding of all ranks.
Result<InstanceId> first_of_all(World& world, InstanceId mine) {
  SHEAF_ASSIGN(const auto found, world.exchange(mine ? std::to_string(mine.number()) : ""));
  InstanceId first;
  for (const std::string& one : found) {
    if (one.empty()) continue;
    const InstanceId theirs(std::stoi(one));
    if (!first || theirs < first) first = theirs;
  }
  return first;
}

bool is_floating(DType dtype) { return dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16; }

}  // namespace

FiniteSearch::FiniteSearch(const BoundProgram& program) {
  for (const Instance& instance : program.instances) {
    auto& results = results_.emplace_back();
    if (!instance.call()) continue;
    for (size_t o = 0; o < instance.outputs.size(); ++o) {
      const TensorSpec& spec = program.tensors[instance.outputs[o]].spec;
      if (is_floating(spec.dtype))
        results.push_back({static_cast<uint32_t>(instance.inputs.size() + o), spec.dtype, spec.bytes});
    }
  }
}

Result<InstanceId> FiniteSearch::run(Executor& executor, const DeviceSet& devices) const {
  InstanceId first;
  std::vector<char> copy;
  Error problem;
  bool failed = false;
  const auto finite = [&](LaneId lane, const LaneOperation& operation, const FloatResult& result, bool allow) {
    const LaneProgram& program = executor.lane(lane);
    const void* data = program.slots[operation.first_slot + result.slot];
    if (!devices.in_host_memory(lane)) {
      copy.resize(result.bytes);
      program.queue->copy(copy.data(), data, {result.bytes, 1, 0, 0});
      if (auto done = program.queue->synchronize(); !done) {
        problem = std::move(done.error());
        failed = true;
        return true;
      }
      data = copy.data();
    }
    return all_finite(result.dtype, data, result.bytes, allow);
  };
  // Masks hold minus infinity for good reasons, so it is reported only if nothing else is found.
  for (const bool allow : {true, false}) {
    auto done = executor.run_one_by_one(false, [&](LaneId lane, const LaneOperation& operation) {
      for (const FloatResult& result : results_[operation.instance]) {
        if (!first && !finite(lane, operation, result, allow)) first = operation.instance;
      }
      return (!first || devices.world()) && !failed;  // other ranks wait for what this one sends
    });
    if (failed) return problem;
    SHEAF_TRY(std::move(done));
    if (World* world = devices.world()) {
      SHEAF_ASSIGN(first, first_of_all(*world, first));
    }
    if (first) break;
  }
  return first;
}

}  // namespace sheaf
