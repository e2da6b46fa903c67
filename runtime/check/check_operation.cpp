#include "runtime/check/step_check.h"

#include "runtime/base/printable.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/narrow_read.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <numeric>

namespace sheaf {

namespace {

/// A shape's number of elements as a constant times a sorted list of factors that depend on symbols, each
/// divided by what divides it; two shapes with the same have equally many elements whatever the batch.
std::pair<int64_t, std::vector<std::string>> element_factors(const Shape& shape) {
  int64_t constant = 1;
  std::vector<std::string> factors;
  for (const Extent& extent : shape) {
    int64_t divisor = extent.constant;
    for (const auto& term : extent.terms) divisor = std::gcd(divisor, term.second);
    if (divisor == 0) return {0, {}};
    // Saturates: products that large are refused with the value's bytes.
    if (__builtin_mul_overflow(constant, divisor, &constant)) constant = kLargestBytes;
    if (!extent.is_static())
      if (const Result<Extent> rest = extent.divided_by(divisor < 0 ? -divisor : divisor); rest)
        factors.push_back(to_string(*rest));
  }
  std::sort(factors.begin(), factors.end());
  return {constant, std::move(factors)};
}

void check_view(StepCheck& check) {
  check.attributes({});
  if (!check.inputs(1) || !check.outputs(1)) return;
  if (check.step().roles != std::vector<std::string>{"x"}) return check.fail("the operand of 'view' is 'x'");
  const Value& x = check.input(0);
  const Value& y = check.output(0);
  if (x.dtype != y.dtype) check.fail("a view doesn't change the dtype");
  if (element_factors(x.shape) != element_factors(y.shape))
    check.fail("'" + x.name + "' of shape " + to_string(x.shape) + " can't be viewed as " + to_string(y.shape));
}

void check_print(StepCheck& check) {
  check.attributes({"text"});
  check.text("text");
  if (check.step().inputs.empty()) return check.fail("'print' needs an input");
  if (!check.outputs(1)) return;
  if (check.input(0).dtype != check.output(0).dtype) check.fail("'print' doesn't change the dtype");
  check.shape(check.output(0), check.input(0).shape);
}

/// `in_place`: pairs of an input and an output of as many bytes, each output in one pair at most.
void check_in_place(StepCheck& check) {
  const auto found = check.step().attributes.find("in_place");
  if (found == check.step().attributes.end()) return;
  const auto index = [](const Json& json, size_t count) {
    // A negative number is beyond any count as an unsigned one.
    return json.is_number_integer() && json.get<uint64_t>() < count ? json.get<size_t>() : count;
  };
  const size_t inputs = check.step().inputs.size();
  const size_t outputs = check.step().outputs.size();
  std::vector<bool> taken(outputs, false);
  bool good = found->is_array();
  for (size_t i = 0; good && i < found->size(); ++i) {
    const Json& pair = (*found)[i];
    good = pair.is_array() && pair.size() == 2;
    if (!good) break;
    const size_t input = index(pair[0], inputs);
    const size_t output = index(pair[1], outputs);
    good = input < inputs && output < outputs && !taken[output] &&
           size_of(check.input(input).dtype) == size_of(check.output(output).dtype) &&
           element_factors(check.input(input).shape) == element_factors(check.output(output).shape);
    if (good) taken[output] = true;
  }
  if (!good) check.fail("'in_place' must be a list of [input, output] of the same size");
}

/// Input 0 of a lookup holds indices along dimension `lookup_dim` of a table, input 1. `status`: the output, one int64, that reports an index
/// out of range; with it the dimension may be left out, and is 0.
void check_lookup(StepCheck& check) {
  const bool reports = check.step().attributes.contains("status"), along = check.step().attributes.contains("lookup_dim");
  if (reports) {
    const auto last = static_cast<int64_t>(check.step().outputs.size()) - 1;
    const auto output = static_cast<size_t>(check.integer("status", 0, last));
    if (check.failed()) return;
    const Value& status = check.output(output);
    if (status.dtype != DType::int64 || element_factors(status.shape) != std::pair(int64_t{1}, std::vector<std::string>()))
      return check.fail("'status' must be an output of one int64");
  } else if (!along) {
    return;
  }
  const bool indices =
      check.step().inputs.size() >= 2 && (check.input(0).dtype == DType::int64 || check.input(0).dtype == DType::int32);
  if (!indices || check.input(1).shape.empty())
    return check.fail(std::string(reports ? "'status'" : "'lookup_dim'") + " goes with integer indices and a table as inputs");
  if (along) check.integer("lookup_dim", 0, static_cast<int64_t>(check.input(1).shape.size()) - 1);
}

/// `pattern`: of operands that all have one shape.
void check_pattern(StepCheck& check) {
  const auto found = check.step().attributes.find("pattern");
  if (found == check.step().attributes.end()) return;
  const std::string pattern = found->is_string() ? found->get<std::string>() : "";
  const size_t inputs = pattern == "relu" || pattern == "cast"                ? 1
                        : pattern == "add_relu" || pattern == "relu_backward" ? 2
                        : pattern == "add_relu_backward"                      ? 3
                                                                              : 0;
  bool good = inputs > 0 && check.step().inputs.size() == inputs && check.step().outputs.size() == 1;
  for (size_t i = 0; good && i < inputs; ++i) good = check.input(i).shape == check.output(0).shape;
  if (!good)
    check.fail("'pattern' must be relu, add_relu, relu_backward, add_relu_backward or cast, of operands that have one shape");
}

/// `narrow`: another kernel of as many extents that goes element by element, and a float32 operand that it takes as bf16 or f16.
void check_narrow(StepCheck& check) {
  if (!check.step().attributes.contains("narrow")) return;
  const auto narrow = narrow_read(check.step());
  if (!narrow) return check.fail("'narrow' must be an input, a narrower dtype and a kernel");
  const auto& kernels = check.scope().kernels;
  const auto kernel = kernels.find(narrow->kernel);
  if (kernel == kernels.end() || !kernel->second->elementwise ||
      kernel->second->extents != kernels.at(check.step().kernel)->extents || check.input(narrow->input).dtype != DType::float32)
    check.fail("'narrow' must name a kernel like the step's, element by element, and a float32 input");
}

void check_kernel(StepCheck& check) {
  check.attributes({"extents", "work", "grain"},
                   {"in_place", "status", "lookup_dim", "gpu_work", "pattern", "narrow", "least"});
  const auto kernel = check.scope().kernels.find(check.step().kernel);
  if (kernel == check.scope().kernels.end()) return check.fail("no kernel " + in_quotes(check.step().kernel) + " in the plan");
  check.integer("grain", 1, kLargestDim);
  if (check.failed()) return;
  const Json& extents = check.step().attributes["extents"];
  if (!extents.is_array() || extents.size() != static_cast<size_t>(kernel->second->extents))
    return check.fail("'extents' must be a list of " + std::to_string(kernel->second->extents) + " sizes");
  for (size_t i = 0; i < extents.size() && !check.failed(); ++i) check.extent(extents[i], "extents[" + std::to_string(i) + "]");
  for (const char* range : {"work", "gpu_work"})
    if (check.step().attributes.contains(range)) check.extent(check.step().attributes[range], range);
  if (check.step().attributes.contains("least")) check.integer("least", 1, kLargestDim);
  check_in_place(check);
  check_pattern(check);
  check_lookup(check);
  check_narrow(check);
}

/// A call into a library: its row in runtime/ops says all.
void check_library(StepCheck& check, Op op) {
  const Step& step = check.step();
  std::vector<Shape> inputs, results;
  for (size_t i = 0; i < step.inputs.size(); ++i) inputs.push_back(check.input(i).shape);
  for (size_t i = 0; i < step.outputs.size(); ++i) results.push_back(check.output(i).shape);
  const auto expected =
      result_shapes({.op = op, .attributes = step.attributes, .roles = step.roles, .inputs = inputs, .results = results});
  if (!expected) return check.fail("'" + to_string(op) + "': " + expected.error().message());
  if (!check.outputs(expected->size())) return;
  for (size_t i = 0; i < inputs.size(); ++i) check.floating(check.input(i), step.roles[i] == kWorkspaceRole);
  for (size_t i = 0; i < expected->size(); ++i) {
    check.floating(check.output(i), (*expected)[i].elements == ResultShape::workspace);
    check.shape(check.output(i), (*expected)[i].shape);
  }
}

}  // namespace

void check_operation(StepCheck& check) {
  const Op op = check.step().op;
  if (op == Op::layer || traits(op).source == Source::binding)
    return check.fail("unknown operation " + in_quotes(op_name(check.step())));
  if (!check.step().kernel.empty() && op != Op::kernel) return check.fail("only a step of op 'kernel' names a kernel");
  if (moves(op)) return check_movement(check);
  if (is_library(op)) return check_library(check, op);
  if (op == Op::kernel) return check_kernel(check);
  if (op == Op::print) return check_print(check);
  check_view(check);
}

}  // namespace sheaf
