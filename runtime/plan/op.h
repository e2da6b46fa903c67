// An operation, and what it is called. Which there are stands in runtime/plan/op_list.h, everything else about one in its
// row of runtime/ops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sheaf {

/// Op{} is a node of a logical program.
enum class Op : uint8_t;

std::string to_string(Op op);
/// The operation of this name; none if there is no such.
std::optional<Op> op_from_name(std::string_view name);

}  // namespace sheaf
