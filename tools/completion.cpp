// The shells' common part: what a value is completed with.
#include "tools/completion.h"

namespace sheaf {

ValueKind value_kind(const OptionInfo& option) {
  const std::string& name = option.placeholder.empty() ? option.name : option.placeholder;
  const auto says = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (!option.choices.empty()) return ValueKind::choice;
  if (says("VERB")) return ValueKind::verb;
  if (says("SOURCE")) return ValueKind::source;
  if (says("LIST")) return ValueKind::devices;
  if (says("DIR")) return ValueKind::directory;
  if (says("FILE") || says("OLD")) return ValueKind::file;
  if (says("MODEL") && says("PLAN")) return ValueKind::model_or_plan;
  if (says("MODEL")) return ValueKind::model;
  if (says("PLAN")) return ValueKind::plan;
  return ValueKind::none;
}

}  // namespace sheaf
