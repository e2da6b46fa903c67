// Typed access to a JSON document. Errors name the path: "programs.infer.steps[3].inputs".
#pragma once

#include "runtime/plan/plan.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// Keeps the first problem found; reading continues with harmless values after it, so readers need not check
/// after each field.
struct JsonReading {
  std::string file;
  std::optional<Error> error;
};

/// A position in a document. Refers to its parent, which must outlive it.
class JsonNode {
 public:
  JsonNode(JsonReading& reading, const Json& json) : reading_(&reading), json_(&json) {}

  std::string path() const;
  void fail(const std::string& message) const;
  bool failed() const { return reading_->error.has_value(); }
  const Json& json() const { return *json_; }

  /// An object with no other keys than these.
  void only(std::span<const std::string_view> keys) const;
  void only(std::initializer_list<std::string_view> keys) const { only(std::span(keys.begin(), keys.size())); }
  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }
  /// A required field.
  JsonNode field(const char* key) const;
  JsonNode element(size_t index) const;
  /// Elements of a list; 0 and an error for anything else.
  size_t size() const;

  std::string text() const;
  /// A format's version, which must be `known`.
  void version(const std::string& known) const;
  bool boolean() const;
  int64_t integer(int64_t lowest, int64_t highest) const;
  int number() const { return static_cast<int>(integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max())); }
  std::vector<std::string> texts() const;
  std::vector<int> numbers() const;

 private:
  JsonNode(const JsonNode& parent, const Json& json, const char* key, size_t index)
      : reading_(parent.reading_), json_(&json), parent_(&parent), key_(key), index_(index) {}

  JsonReading* reading_;
  const Json* json_;
  const JsonNode* parent_ = nullptr;
  const char* key_ = nullptr;  ///< within an object; else `index_` within a list
  size_t index_ = 0;
};

}  // namespace sheaf
