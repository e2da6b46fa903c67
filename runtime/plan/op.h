// An operation and its name. runtime/plan/op_list.h lists them; everything else about one is in its
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
/// The operation of this name; none if there is none.
std::optional<Op> op_from_name(std::string_view name);

}  // namespace sheaf
