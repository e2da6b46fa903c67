// Dump: a plan as text, picture or data. docs/dump.md says what each format shows.
#pragma once

#include "tools/inspect/graph.h"
#include "tools/inspect/timeline.h"
#include "runtime/bind/memory_profile.h"
#include "runtime/plan/plan.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

enum class DumpFormat { text, mlir, dot, svg, html, json, model_explorer, bound };

/// "text", "mlir", "dot", "svg", "html", "json", "model-explorer" or "bound"; empty for another name.
std::optional<DumpFormat> dump_format_from_name(std::string_view name);

struct DumpOptions {
  std::vector<std::string> devices;    ///< as in --devices, ranges spelt out; empty: any device list
  std::optional<int64_t> batch;        ///< rows; given together with `devices`, or neither
  std::string program = "infer";       ///< one of SharedPlan::programs()
  int shards = 0;                      ///< logical shards (docs/strategies.md); 0: one for each device
  const Timeline* timeline = nullptr;  ///< of a run of the plan; only format html shows it
  /// Memory over time of the program on `devices` at `batch` (tools/estimate/memory_over_time.h); only format html shows it. An
  /// error says why it is not known. Empty: not requested.
  std::function<Result<std::vector<LaneMemory>>(const Program& program)> memory = {};
  /// The executable program as `devices` run it with `batch` rows (tools/estimate/bound_text.h); format bound shows it and
  /// nothing else.
  std::function<Result<std::string>(const Program& program)> bound;
};

/// Shows the plan's logical program (one step per layer), expanded if `options` names devices and a batch. `plan` has passed
/// check(). The result ends in a newline. Errors: one of devices and batch without the other; a program that the plan doesn't
/// hold; those of expand() (tools/inspect/graph.h); for svg, Graphviz's `dot` missing or failing; for bound, no devices, and
/// errors of `options.bound`. Format mlir prints Plan::ir or Plan::train_ir, whatever the devices.
Result<std::string> dump(const Plan& plan, DumpFormat format, const DumpOptions& options = {});

/// The graph that dump() shows. Errors: the same.
Result<PlacementGraph> placement_graph(const Plan& plan, const DumpOptions& options);

/// A plan and its file's name in titles.
struct LabelledPlan {
  std::string label;
  const Plan& plan;
};
struct DumpedDiff {
  std::string text;
  bool equal = false;
};

/// What changed from one plan to another (tools/inspect/diff.h), as text, json, dot, svg or html. Errors: as dump() for
/// either plan; another format.
Result<DumpedDiff> dump_diff(const LabelledPlan& before, const LabelledPlan& after, DumpFormat format,
                             const DumpOptions& options = {});

}  // namespace sheaf
