#include "runtime/check/lengths.h"

#include "runtime/base/extent_product.h"
#include "runtime/base/suggest.h"
#include "runtime/check/check.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <array>

namespace sheaf {

namespace {

/// With which a plan is checked whose lengths have no largest numbers: long enough for any model that is in memory as a whole.
constexpr int64_t kTypicalLargest = 4096;

/// Of a plan that may be constant.
auto programs_of(auto& plan) {
  return std::array{&plan.infer,      &plan.infer_graph,      &plan.train,    &plan.train_graph,
                    &plan.accumulate, &plan.accumulate_graph, &plan.update,   &plan.update_graph,
                    &plan.forward,    &plan.forward_graph,    &plan.backward, &plan.backward_graph};
}

Result<std::string> substituted_text(const Json& json, const LengthNumbers& numbers) {
  if (!json.is_string()) return Error("a kernel's size is no text");
  SHEAF_ASSIGN(const auto extent, parse_extent(json.get<std::string>()));
  return to_string(substituted(extent, numbers));
}

/// A kernel's run-time sizes.
Result<void> put_numbers(Json& attributes, const LengthNumbers& numbers) {
  if (const auto extents = attributes.find("extents"); extents != attributes.end() && extents->is_array()) {
    for (Json& extent : *extents) {
      SHEAF_ASSIGN(extent, substituted_text(extent, numbers));
    }
  }
  for (const char* name : {"work", "gpu_work"}) {
    const auto work = attributes.find(name);
    if (work == attributes.end()) continue;
    SHEAF_ASSIGN(*work, substituted_text(*work, numbers));
  }
  return {};
}

Result<void> put_numbers(Program& program, const LengthNumbers& all) {
  LengthNumbers numbers;
  for (const Symbol& symbol : program.symbols)
    if (symbol.kind == Symbol::length) numbers[symbol.name] = all.at(symbol.name);
  if (numbers.empty()) return {};
  std::erase_if(program.symbols, [](const Symbol& symbol) { return symbol.kind == Symbol::length; });
  for (Symbol& symbol : program.symbols) {
    if (numbers.contains(symbol.name)) return Error("'" + symbol.name + "' is a length and something else");
    symbol.of = substituted(symbol.of, numbers);
  }
  for (Value& value : program.values)
    for (Extent& size : value.shape) size = substituted(size, numbers);
  for (Step& step : program.steps)
    if (step.op == Op::kernel) SHEAF_TRY(put_numbers(step.attributes, numbers));
  return {};
}

std::string text_of(const Length& length) {
  return "the length '" + length.name + "'" + (length.largest ? ", at most " + std::to_string(length.largest) : "");
}

bool fits(const Length& length, int64_t number) {
  return number >= 1 && number <= (length.largest ? length.largest : kLargestDim);
}

}  // namespace

std::vector<Length> lengths_of(const Plan& plan) {
  std::vector<Length> lengths;
  for (const Program* program : programs_of(plan)) {
    for (const Symbol& symbol : program->symbols) {
      if (symbol.kind != Symbol::length) continue;
      auto known = std::ranges::find(lengths, symbol.name, &Length::name);
      if (known == lengths.end()) known = lengths.insert(lengths.end(), {symbol.name, 0});
      const int64_t largest = symbol.of.constant;
      if (largest > 0 && (known->largest == 0 || largest < known->largest)) known->largest = largest;
    }
  }
  return lengths;
}

bool has_length(const Program& program, const std::string& name) {
  return std::ranges::any_of(program.symbols,
                             [&](const Symbol& symbol) { return symbol.kind == Symbol::length && symbol.name == name; });
}

Result<void> check_lengths(const Plan& plan, const LengthNumbers& numbers) {
  const auto refuse = [&](const std::string& message) { return Error({plan.file}, message); };
  const std::vector<Length> lengths = lengths_of(plan);
  std::vector<std::string> known;
  for (const Length& length : lengths) known.push_back(length.name);
  for (const auto& [name, number] : numbers) {
    const auto length = std::ranges::find(lengths, name, &Length::name);
    if (length == lengths.end())
      return refuse("'" + name + "' is no length of this plan, which has " + (known.empty() ? "none" : quoted_list(known)));
    if (!fits(*length, number))
      return refuse(text_of(*length) + (length->largest ? "," : "") + " can't be " + std::to_string(number));
  }
  for (const Length& length : lengths)
    if (!numbers.contains(length.name))
      return refuse(text_of(length) + (length.largest ? "," : "") + " has no number: sizes depend on it");
  return {};
}

Result<Plan> with_lengths(Plan plan, const LengthNumbers& numbers) {
  SHEAF_TRY(check_lengths(plan, numbers));
  for (Program* program : programs_of(plan))
    if (auto done = put_numbers(*program, numbers); !done) return Error({plan.file}, done.error().message());
  std::erase(plan.requires_, kLengthsFeature);
  // A plan that was compiled to be looked at has no code, which a check asks for.
  if (plan.kernels.empty() || !plan.objects.empty()) SHEAF_TRY(check(plan, plan.file));
  return plan;
}

Result<void> check_sizes(const Plan& plan, const std::string& file) {
  LengthNumbers largest;
  for (const Length& length : lengths_of(plan)) largest[length.name] = length.largest ? length.largest : kTypicalLargest;
  if (largest.empty()) return check(plan, file);
  if (std::ranges::find(plan.requires_, kLengthsFeature) == plan.requires_.end())
    return Error({file}, "requires: the plan has lengths, but doesn't say so");
  for (const Program* program : programs_of(plan))
    for (const Symbol& symbol : program->symbols)
      if (symbol.kind == Symbol::length &&
          (!symbol.of.is_static() || symbol.of.constant < 0 || symbol.of.constant > kLargestDim))
        return Error({file}, "the largest number of the length '" + symbol.name + "' is out of bounds");
  auto numbered = with_lengths(plan, largest);
  return numbered ? Result<void>() : Result<void>(numbered.error());
}

Result<void> GivenLengths::add(const std::string& length, int64_t number, const std::string& by) {
  const auto [first, added] = given_.try_emplace(length, Given{number, by});
  if (added || first->second.number == number) return {};
  return Error("the length '" + length + "' is " + std::to_string(first->second.number) + " by " + first->second.by + ", but " +
               std::to_string(number) + " by " + by);
}

Result<void> GivenLengths::add(const std::vector<Length>& lengths, const std::vector<Extent>& shape,
                               std::span<const int64_t> sizes, const std::string& by) {
  for (size_t i = 0; i < shape.size() && shape.size() == sizes.size(); ++i)
    for (const Length& length : lengths)
      if (shape[i] == Extent::symbol(length.name)) {
        if (!fits(length, sizes[i]))
          return Error(text_of(length) + (length.largest ? "," : "") + " can't be " + std::to_string(sizes[i]) +
                       ", as it is by " + by);
        SHEAF_TRY(add(length.name, sizes[i], by));
      }
  return {};
}

LengthNumbers GivenLengths::numbers() const {
  LengthNumbers numbers;
  for (const auto& [length, given] : given_) numbers[length] = given.number;
  return numbers;
}

}  // namespace sheaf
