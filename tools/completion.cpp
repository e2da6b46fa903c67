// The shells' common part: how a value is completed.
#include "tools/completion.h"

namespace sheaf {

ValueKind value_kind(const OptionInfo& option) {
  const std::string& name = option.placeholder.empty() ? option.name : option.placeholder;
  const auto says = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (!option.choices.empty()) return ValueKind::choice;
  if (option.file == FileUse::source) return ValueKind::source;
  if (option.file == FileUse::folder) return ValueKind::directory;
  if (option.file == FileUse::output) return ValueKind::file;
  if (says("VERB")) return ValueKind::verb;
  if (says("LIST")) return ValueKind::devices;
  if (says("MODEL") && says("PLAN")) return ValueKind::model_or_plan;
  if (says("MODEL")) return ValueKind::model;
  if (says("PLAN")) return ValueKind::plan;
  return option.file == FileUse::input ? ValueKind::file : ValueKind::none;
}

}  // namespace sheaf
