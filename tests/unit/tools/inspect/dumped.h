// A plan's dump as a test looks at it.
#pragma once

#include "tools/inspect/dump.h"
#include "tools/inspect/format.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// The inference program on these devices, with that batch.
inline DumpOptions on(std::vector<std::string> devices, int64_t batch) { return {std::move(devices), batch, "infer"}; }

/// The dump's text; empty, and the test has failed, if there is none.
inline std::string dumped(const Plan& plan, DumpFormat format, const DumpOptions& options = {}) {
  Result<std::string> text = dump(plan, format, options);
  EXPECT_TRUE(text) << to_string(text.error());
  return text ? *text : "";
}

}  // namespace sheaf
