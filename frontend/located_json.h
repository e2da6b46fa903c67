// JSON with the line and column of every key and value.
#pragma once

#include "frontend/problems.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::frontend {

struct LocatedMember;

/// One JSON value and where it begins.
struct LocatedNode {
  enum class Kind { null, boolean, integer, number, string, array, object };
  Kind kind = Kind::null;
  TextPlace place;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;   ///< of integers as well
  std::string string;  ///< a string's content; a number's source text
  std::vector<LocatedNode> items;
  std::vector<LocatedMember> members;  ///< in the order of the file, keys unique

  const LocatedMember* find(const std::string& key) const;
};

struct LocatedMember {
  std::string key;
  TextPlace place;
  LocatedNode value;
};

/// Bounds on a model file, so that a hostile one is refused before it costs memory or stack.
struct ModelFileLimits {
  size_t bytes = size_t{16} << 20;
  size_t nodes = 1'000'000;
  size_t depth = 200;
};

/// Parses JSON text (RFC 8259, UTF-8). Syntax errors, invalid UTF-8, duplicate keys and texts beyond the limits become
/// problems; returns the tree if it is complete (duplicate keys leave it complete: the first counts).
std::optional<LocatedNode> parse_located_json(std::string_view text, Problems& problems, const ModelFileLimits& limits = {});

/// A short description for "found …": `the string "abc"`, `3.5`, `an object`.
std::string describe(const LocatedNode& node);

}  // namespace sheaf::frontend
