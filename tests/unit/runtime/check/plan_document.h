// Plans as JSON documents that a test changes.
#pragma once

#include "runtime/check/reader.h"
#include "runtime/plan/serialize.h"
#include "runtime/base/sha256.h"
#include "tests/unit/runtime/check/plan_samples.h"

#include <string>

namespace sheaf {

/// The text of a document with a matching digest.
inline std::string sign(Json document) {
  if (!document.is_object()) return document.dump();
  document.erase("sha256");
  const std::string digest = sha256(document.dump());
  document["sha256"] = digest;
  return document.dump();
}

inline Json sample_document() { return Json::parse(serialize(samples::sample_plan())); }

/// The reader's objection to a text.
inline std::string error_of(const std::string& text) {
  const auto plan = parse_plan("m.plan", text);
  return plan ? "no error" : to_string(plan.error());
}

}  // namespace sheaf
