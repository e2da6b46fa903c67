#include "tools/model_or_plan.h"

#include "runtime/base/file.h"
#include "runtime/check/reader.h"

namespace sheaf {

namespace {

constexpr uint64_t kLargestFile = uint64_t{512} << 20;

bool is_plan(const std::string& text) { return text.substr(0, 256).find("\"sheaf-plan\"") != std::string::npos; }

}  // namespace

Result<Plan> read_model_or_plan(const std::string& file, const CompileOptions& compilation) {
  SHEAF_ASSIGN(auto text, read_file(file, kLargestFile));
  if (is_plan(text)) return parse_plan(file, text);
  SHEAF_ASSIGN(auto model, frontend::parse_model(file, text));
  return compile(model, compilation);
}

Result<std::optional<frontend::Model>> read_model(const std::string& file) {
  SHEAF_ASSIGN(auto text, read_file(file, kLargestFile));
  if (is_plan(text)) return std::optional<frontend::Model>();
  SHEAF_ASSIGN(auto model, frontend::parse_model(file, text));
  return std::optional<frontend::Model>(std::move(model));
}

}  // namespace sheaf
