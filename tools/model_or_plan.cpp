#include "tools/model_or_plan.h"

#include "codegen/plan/compile.h"
#include "runtime/base/file.h"
#include "runtime/plan/reader.h"

namespace sheaf {

Result<Plan> read_model_or_plan(const std::string& file, bool objects) {
  constexpr uint64_t kLargestFile = uint64_t{512} << 20;
  Result<std::string> text = read_file(file, kLargestFile);
  if (!text) return text.error();
  if (text->substr(0, 256).find("\"sheaf-plan\"") != std::string::npos) return parse_plan(file, *text);
  auto model = frontend::parse_model(file, *text);
  if (!model) return model.error();
  CompileOptions options;
  options.objects = objects;
  return compile(*model, options);
}

}  // namespace sheaf
