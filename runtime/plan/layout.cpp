#include "runtime/plan/plan.h"

#include "runtime/base/printable.h"

#include <charconv>
#include <string_view>

namespace sheaf {

std::string to_string(const ValueLayout& layout) {
  switch (layout.kind) {
    case ValueLayout::whole: return "whole";
    case ValueLayout::split: return "split:" + std::to_string(layout.dim);
    case ValueLayout::replicated: return "replicated";
    case ValueLayout::partial: return "partial";
    case ValueLayout::local: return "local";
    case ValueLayout::sharded: return "sharded";
  }
  return "whole";
}

Result<ValueLayout> parse_layout(const std::string& text) {
  for (const ValueLayout::Kind kind :
       {ValueLayout::whole, ValueLayout::replicated, ValueLayout::partial, ValueLayout::local, ValueLayout::sharded})
    if (text == to_string(ValueLayout{kind, 0})) return ValueLayout{kind, 0};
  ValueLayout layout{ValueLayout::split, 0};
  const std::string_view prefix = "split:";
  if (text.starts_with(prefix)) {
    const auto [end, status] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), layout.dim);
    if (status == std::errc() && end == text.data() + text.size() && layout.dim >= 0 && to_string(layout) == text)
      return layout;
  }
  return Error(in_quotes(text) +
               " is not a layout; expected 'whole', 'split:D', 'replicated', 'partial', 'local' or 'sharded'");
}

}  // namespace sheaf
