#include "tools/verify/sizes.h"

#include <algorithm>
#include <list>

namespace sheaf {

Result<Sizes> Sizes::make(const Plan& plan, const Program& program, const DeviceSet& devices, int64_t batch) {
  std::vector<int64_t> counts;
  for (const Region& region : plan.regions) {
    SHEAF_ASSIGN(auto entries, devices.region_entries(region));
    counts.push_back(static_cast<int64_t>(entries.size()));
  }
  SHEAF_ASSIGN(auto table, SymbolTable::build(plan, program, batch, counts));
  return Sizes(program, std::move(table));
}

Result<int64_t> Sizes::evaluate(const Extent& extent, const Place& place, int replica) const {
  if (replica != kWhole || place.kind != Place::region) return table_.evaluate(extent, place, replica);
  std::list<int64_t> values;  // addresses must stay valid
  auto result = sheaf::evaluate(extent, [&](const std::string& name) -> const int64_t* {
    const auto symbol = std::find_if(program_->symbols.begin(), program_->symbols.end(),
                                     [&](const Symbol& other) { return other.name == name; });
    if (symbol == program_->symbols.end()) return nullptr;
    if (symbol->kind == Symbol::offset) return &values.emplace_back(0);
    auto value =
        symbol->kind == Symbol::chunk ? table_.evaluate(symbol->of, Place{}) : table_.evaluate(Extent::symbol(name), Place{});
    return value ? &values.emplace_back(*value) : nullptr;
  });
  return result;
}

Result<std::vector<int64_t>> Sizes::dims(const Value& value, int replica) const {
  if (value.layout.kind == ValueLayout::sharded && replica != kWhole) return table_.dims(value, replica);
  std::vector<int64_t> dims;
  for (const Extent& extent : value.shape) {
    auto dim = evaluate(extent, value.place, replica);
    if (!dim) return Error("value '" + value.name + "': " + dim.error().message());
    dims.push_back(*dim);
  }
  return dims;
}

Result<std::vector<int64_t>> Sizes::bounds(const Value& value, int dim) const {
  std::vector<int64_t> bounds = {0};
  for (int replica = 0; replica < replicas(value.place.index); ++replica) {
    SHEAF_ASSIGN(auto size, evaluate(value.shape[static_cast<size_t>(dim)], value.place, replica));
    bounds.push_back(bounds.back() + size);
  }
  return bounds;
}

}  // namespace sheaf
