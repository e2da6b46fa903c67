// JSON from untrusted files: bounded in depth and size, with no duplicate key.
#pragma once

#include "runtime/base/error.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sheaf {

struct JsonLimits {
  int depth = 64;             ///< nesting; code that recurses over the result (dump) relies on it
  size_t values = 4'000'000;  ///< in the whole document
  size_t keys = 512;          ///< of one object: ordered_json looks keys up one by one
};

/// The position of byte `byte` of `text`, counted from 1 as in nlohmann::json's errors.
Location place_of_byte(const std::string& file, std::string_view text, size_t byte);

/// The text of an nlohmann::json error, without its number, its own position and what was read last: "syntax error while
/// parsing value - …".
std::string syntax_reason(std::string what);

/// Parses `text`. Errors: a syntax error (with line and column in `file`), a limit exceeded, a duplicate key
/// in an object, a number beyond 64 bits or a double.
Result<nlohmann::ordered_json> parse_ordered_json(const std::string& file, std::string_view text,
                                                  const JsonLimits& limits = {});

/// The same without keeping the order of keys; for objects with very many of them.
Result<nlohmann::json> parse_sorted_json(const std::string& file, std::string_view text, const JsonLimits& limits);

}  // namespace sheaf
