#include "runtime/bind/chunk.h"

#include "runtime/check/check.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {

namespace {

/// "'x' (30 rows)": the value that is scattered by `symbol`, for messages; the symbol itself if none is.
std::string scattered_value(const Program& program, const Symbol& symbol, int64_t rows) {
  std::string name = symbol.name;
  for (const Step& step : program.steps) {
    if (step.op != Op::scatter || step.inputs.empty() || step.outputs.empty()) continue;
    const Value& part = program.values[static_cast<size_t>(step.outputs[0])];
    const bool uses =
        std::any_of(part.shape.begin(), part.shape.end(), [&](const Extent& dim) { return dim.terms.contains(symbol.name); });
    if (uses) {
      name = program.values[static_cast<size_t>(step.inputs[0])].name;
      break;
    }
  }
  return "'" + name + "' (" + std::to_string(rows) + " rows)";
}

}  // namespace

std::vector<int64_t> chunk_sizes(int64_t total, int64_t devices) {
  if (total <= 0 || devices <= 1) return {std::max<int64_t>(total, 0)};
  const int64_t size = (total - 1) / devices + 1;
  const int64_t count = (total - 1) / size + 1;
  std::vector<int64_t> sizes(static_cast<size_t>(count), size);
  sizes.back() = total - size * (count - 1);
  return sizes;
}

Run run_of(int64_t elements, int64_t members, int64_t i) {
  const int64_t length = elements == 0 ? 0 : (elements - 1) / members + 1;
  const int64_t begin = std::min(i * length, elements);
  return {begin, std::min(begin + length, elements) - begin};
}

Result<SymbolTable> SymbolTable::build(const Plan& plan, const Program& program, int64_t batch,
                                       std::span<const int64_t> region_devices) {
  if (batch < 0) return Error("a batch can't have " + std::to_string(batch) + " rows");
  if (region_devices.size() != plan.regions.size())
    return Error("device counts are given for " + std::to_string(region_devices.size()) + " regions; the plan has " +
                 std::to_string(plan.regions.size()));
  for (size_t r = 0; r < plan.regions.size(); ++r)
    if (region_devices[r] < 1) return Error(plan.regions[r].location, "'" + plan.regions[r].name + "' has no devices");

  for (const Symbol& symbol : program.symbols)
    if (symbol.kind == Symbol::length)
      return Error({plan.file}, "the length '" + symbol.name + "' has no number: sizes depend on it");

  SymbolTable table;
  table.batch_ = batch;
  table.replicas_.assign(region_devices.begin(), region_devices.end());
  table.members_ = table.replicas_;

  // The first chunk symbol of each region and its rows, with which later ones must agree.
  std::vector<const Symbol*> first(plan.regions.size(), nullptr);
  std::vector<int64_t> first_rows(plan.regions.size(), 0);
  // A region's `replicas` symbols get their values after all its chunk symbols, which may follow them.
  std::vector<int64_t> unknown(plan.regions.size(), 0);
  for (const Symbol& symbol : program.symbols)
    if (symbol.kind == Symbol::chunk) ++unknown[static_cast<size_t>(symbol.region)];
  const auto set_replicas = [&](size_t r) {
    for (const Symbol& symbol : program.symbols)
      if (symbol.kind == Symbol::replicas && symbol.region == static_cast<int>(r))
        table.scalars_[symbol.name] = table.replicas_[r];
  };
  for (size_t r = 0; r < plan.regions.size(); ++r)
    if (unknown[r] == 0) set_replicas(r);
  for (const Symbol& symbol : program.symbols)
    if (symbol.kind == Symbol::batch) table.scalars_[symbol.name] = batch;

  for (const Symbol& symbol : program.symbols) {
    if (symbol.kind != Symbol::chunk) continue;
    const size_t r = static_cast<size_t>(symbol.region);
    const Region& region = plan.regions[r];
    Result<int64_t> rows = table.evaluate(symbol.of, Place{});
    if (!rows) return Error(region.location, "'" + region.name + "': " + rows.error().message());
    if (*rows < 0 || *rows > kLargestDim)
      return Error(region.location, "'" + region.name + "' would split " + std::to_string(*rows) + " rows (" +
                                        to_string(symbol.of) + " for a batch of " + std::to_string(batch) + ")");
    std::vector<int64_t> sizes = chunk_sizes(*rows, region_devices[r]);
    const int64_t count = static_cast<int64_t>(sizes.size());
    if (first[r] && count != table.replicas_[r])
      return Error(region.location, "'" + region.name + "' can't split " + scattered_value(program, *first[r], first_rows[r]) +
                                        " and " + scattered_value(program, symbol, *rows) + " alike: on " +
                                        std::to_string(region_devices[r]) + " devices they give " +
                                        std::to_string(table.replicas_[r]) + " and " + std::to_string(count) +
                                        " chunks; inputs of one DataParallel need as many chunks each");
    if (!first[r]) {
      first[r] = &symbol;
      first_rows[r] = *rows;
      table.replicas_[r] = count;
    }
    table.chunks_[symbol.name] = {symbol.region, std::move(sizes)};
    if (--unknown[r] == 0) set_replicas(r);
  }
  for (const Symbol& symbol : program.symbols) {
    if (symbol.kind != Symbol::offset) continue;
    const size_t r = static_cast<size_t>(symbol.region);
    const Result<int64_t> rows = table.evaluate(symbol.of, Place{});
    if (!rows) return Error(plan.regions[r].location, "'" + plan.regions[r].name + "': " + rows.error().message());
    std::vector<int64_t> begins = {0};
    for (const int64_t size : chunk_sizes(*rows, region_devices[r])) begins.push_back(begins.back() + size);
    begins.pop_back();
    table.offsets_[symbol.name] = {symbol.region, std::move(begins)};
  }
  return table;
}

std::span<const int64_t> SymbolTable::chunks(const std::string& symbol) const {
  const auto found = chunks_.find(symbol);
  if (found == chunks_.end()) return {};
  return found->second.sizes;
}

Result<int64_t> SymbolTable::evaluate(const Extent& extent, const Place& place, int64_t replica) const {
  return sheaf::evaluate(extent, [&](const std::string& name) -> const int64_t* {
    if (const auto scalar = scalars_.find(name); scalar != scalars_.end()) return &scalar->second;
    const auto find = [&](const std::map<std::string, Chunks>& symbols) -> const Chunks* {
      const auto found = symbols.find(name);
      return found == symbols.end() ? nullptr : &found->second;
    };
    const Chunks* of_replicas = find(chunks_);
    if (!of_replicas) of_replicas = find(offsets_);
    if (!of_replicas) return nullptr;
    const Chunks& chunks = *of_replicas;
    if (place.kind != Place::region || place.index != chunks.region) return nullptr;
    if (replica < 0 || replica >= static_cast<int64_t>(chunks.sizes.size())) return nullptr;
    return &chunks.sizes[static_cast<size_t>(replica)];
  });
}

Run SymbolTable::run(const Value& value, int64_t replica) const {
  int64_t elements = 1;  // the plan's check has ensured that they are known and not too many
  for (const Extent& extent : value.shape) elements *= extent.constant;
  return run_of(elements, members(value.place.index), replica);
}

Result<std::vector<int64_t>> SymbolTable::dims(const Value& value, int64_t replica) const {
  if (value.layout.kind == ValueLayout::sharded) return std::vector<int64_t>{run(value, replica).count};
  std::vector<int64_t> dims;
  dims.reserve(value.shape.size());
  int64_t bytes = static_cast<int64_t>(size_of(value.dtype));
  bool overflow = false;
  bool empty = false;
  for (const Extent& extent : value.shape) {
    Result<int64_t> dim = evaluate(extent, value.place, replica);
    if (!dim) return Error("value '" + value.name + "': " + dim.error().message());
    if (*dim < 0 || *dim > kLargestDim)
      return Error("value '" + value.name + "' would have a dimension of " + std::to_string(*dim) + " (" + to_string(extent) +
                   ") for a batch of " + std::to_string(batch_));
    dims.push_back(*dim);
    empty |= *dim == 0;
    // Zeros are left out: strides of an empty tensor must not overflow either.
    overflow |= __builtin_mul_overflow(bytes, std::max<int64_t>(*dim, 1), &bytes) || bytes >= kLargestBytes;
  }
  if (overflow)
    return Error("value '" + value.name + "' would be too large" + std::string(empty ? " (though empty)" : "") +
                 " for a batch of " + std::to_string(batch_));
  return dims;
}

}  // namespace sheaf
