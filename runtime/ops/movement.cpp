// Data movement, operations that are neither movement nor a library's, and those that binding adds.
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

/// One addition for each input beyond the first, at every element.
double sum_flops(const SizedOp& op) {
  return op.inputs.empty() ? 0 : static_cast<double>(op.inputs.size() - 1) * op.output_elements();
}

constexpr OpTraits kRows[] = {
    {.op = Op::layer},
    {.op = Op::kernel},
    {.op = Op::view, .passes_on = true},
    {.op = Op::print, .passes_on = true},
    {.op = Op::scatter, .movement = {Route::to_replicas, Carries::chunks}, .passes_on = true},
    {.op = Op::replicate, .movement = {Route::to_replicas, Carries::whole}, .passes_on = true},
    {.op = Op::gather, .movement = {Route::to_one, Carries::chunks}, .passes_on = true},
    {.op = Op::transfer, .movement = {Route::between, Carries::whole}, .passes_on = true},
    {.op = Op::reduce, .movement = {Route::to_one, Carries::summands}, .flops = sum_flops},
    {.op = Op::all_reduce, .movement = {Route::among, Carries::summands}, .flops = sum_flops},
    {.op = Op::reduce_scatter, .movement = {Route::among, Carries::summands}, .flops = sum_flops},
    {.op = Op::all_gather, .movement = {Route::among, Carries::chunks}, .passes_on = true},
    {.op = Op::shard, .movement = {Route::within, Carries::chunks}},
    {.op = Op::first, .movement = {Route::to_one, Carries::whole}, .passes_on = true},
    {.op = Op::check_finite, .source = Source::binding, .flops = [](const SizedOp& op) { return op.first_input_elements(); }},
    {.op = Op::reorder, .source = Source::binding, .passes_on = true},
    {.op = Op::copy, .source = Source::binding, .movement = {Route::between, Carries::whole}, .passes_on = true},
    {.op = Op::update, .source = Source::binding, .passes_on = true},
    {.op = Op::broadcast, .source = Source::binding, .movement = {Route::to_replicas, Carries::whole}, .passes_on = true},
    {.op = Op::sum, .source = Source::binding, .movement = {Route::to_one, Carries::summands}},
    {.op = Op::send, .source = Source::binding},
    {.op = Op::receive, .source = Source::binding},
    {.op = Op::agree, .source = Source::binding},
    {.op = Op::share, .source = Source::binding, .movement = {Route::between, Carries::whole}, .passes_on = true},
};

}  // namespace

std::span<const OpTraits> movements() { return kRows; }

}  // namespace sheaf
