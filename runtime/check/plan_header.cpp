#include "runtime/check/plan_header.h"

#include "runtime/base/printable.h"
#include "runtime/check/lengths.h"
#include "runtime/plan/serialize.h"
#include "runtime/base/sha256.h"
#include "runtime/plan/strategy.h"

#include <charconv>

namespace sheaf {

int check_header(const JsonNode& root) {
  if (root.json().is_object() && root.has("sheaf") && root.has("layers"))
    root.fail("a model file, not a plan; `sheaf compile` makes a plan of it");
  if (!root.json().is_object() || !root.has("format") || root.field("format").json() != "sheaf-plan")
    root.fail("not a plan: the field \"format\": \"sheaf-plan\" is missing");
  const JsonNode version = root.field("version");
  const std::string text = version.text();
  int major = 0;
  int minor = 0;
  if (root.failed()) return minor;
  const char* end = text.data() + text.size();
  const auto dot = std::from_chars(text.data(), end, major);
  const bool has_minor = dot.ec == std::errc() && dot.ptr != end && *dot.ptr == '.';
  const auto last = has_minor ? std::from_chars(dot.ptr + 1, end, minor) : dot;
  if (!has_minor || last.ec != std::errc() || last.ptr != end || major < 0 || minor < 0)
    version.fail(in_quotes(text) + " is not a version; expected MAJOR.MINOR");
  if (major != kPlanMajor || minor > kPlanMinor)
    version.fail("the plan has format " + text + "; this program reads " + std::to_string(kPlanMajor) + ".0 to " +
                 std::to_string(kPlanMajor) + "." + std::to_string(kPlanMinor) +
                 "; compile the model again, or take a newer sheaf");
  const JsonNode required = root.field("requires");
  for (const std::string& feature : required.texts())
    if (feature != "bf16" && feature != "f16" && feature != kLengthsFeature && !strategy_from_name(feature))
      required.fail("the plan needs the feature " + in_quotes(feature) + ", which this program doesn't know");
  return minor;
}

void verify_digest(const JsonNode& root, Json& document) {
  const std::string expected = root.field("sha256").text();
  if (root.failed()) return;
  document.erase("sha256");
  const std::string found = sha256(document.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (found != expected)
    root.fail("the plan is damaged: its content has SHA-256 " + found + ", but sha256 says " + in_quotes(expected));
}

}  // namespace sheaf
