#include "runtime/plan/json_node.h"

#include "runtime/base/printable.h"

#include <algorithm>

namespace sheaf {

namespace {
const Json kNull;
}

std::string JsonNode::path() const {
  if (!parent_) return "";
  const std::string above = parent_->path();
  if (!key_) return above + "[" + std::to_string(index_) + "]";
  return above.empty() ? key_ : above + "." + key_;
}

void JsonNode::fail(const std::string& message) const {
  if (reading_->error) return;
  const std::string at = path();
  reading_->error = Error({reading_->file, 0, 0}, (at.empty() ? "" : at + ": ") + message);
}

void JsonNode::only(std::span<const std::string_view> keys) const {
  if (!json_->is_object()) return fail(std::string("expected an object, found ") + json_->type_name());
  for (const auto& item : json_->items())
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) return fail("unknown field " + in_quotes(item.key()));
}

void JsonNode::version(const std::string& known) const {
  if (const std::string given = text(); !failed() && given != known)
    fail("version " + in_quotes(given) + " is unknown; this program reads " + known);
}

JsonNode JsonNode::field(const char* key) const {
  if (!json_->is_object()) {
    fail(std::string("expected an object, found ") + json_->type_name());
  } else if (const auto found = json_->find(key); found != json_->end()) {
    return {*this, *found, key, 0};
  } else {
    fail(std::string("the field '") + key + "' is missing");
  }
  return {*this, kNull, key, 0};
}

JsonNode JsonNode::element(size_t index) const { return {*this, (*json_)[index], nullptr, index}; }

size_t JsonNode::size() const {
  if (json_->is_array()) return json_->size();
  fail(std::string("expected a list, found ") + json_->type_name());
  return 0;
}

std::string JsonNode::text() const {
  if (json_->is_string()) return json_->get<std::string>();
  fail(std::string("expected a string, found ") + json_->type_name());
  return "";
}

bool JsonNode::boolean() const {
  if (json_->is_boolean()) return json_->get<bool>();
  fail(std::string("expected true or false, found ") + json_->type_name());
  return false;
}

int64_t JsonNode::integer(int64_t lowest, int64_t highest) const {
  // An unsigned number beyond int64 would come out negative.
  const bool fits =
      json_->is_number_integer() &&
      (!json_->is_number_unsigned() || json_->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  if (fits) {
    const auto value = json_->get<int64_t>();
    if (value >= lowest && value <= highest) return value;
  }
  fail("expected an integer from " + std::to_string(lowest) + " to " + std::to_string(highest) + ", found " +
       (json_->is_number() ? json_->dump() : json_->type_name()));
  return lowest;
}

std::vector<std::string> JsonNode::texts() const {
  std::vector<std::string> list(size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = element(i).text();
  return list;
}

std::vector<int> JsonNode::numbers() const {
  std::vector<int> list(size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = element(i).number();
  return list;
}

}  // namespace sheaf
