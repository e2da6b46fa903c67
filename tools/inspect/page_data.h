// The HTML page's data, as the JSON that its script reads.
#pragma once

#include "runtime/bind/memory_profile.h"
#include "tools/inspect/diff.h"
#include "tools/inspect/graph.h"
#include "tools/inspect/timeline.h"

#include <string>
#include <vector>

namespace sheaf {

/// A page's content; null parts aren't shown.
struct PageContent {
  const PlacementGraph& graph;
  const Program* executable = nullptr;              ///< which layers are computed in one operation
  const std::vector<LaneMemory>* memory = nullptr;  ///< over time, on the graph's devices
  std::string no_memory = "";                       ///< why `memory` is missing although the graph has devices
  const Timeline* timeline = nullptr;
  const GraphDiff* difference = nullptr;  ///< `graph` is merged() of it
};

/// The model's name; for a difference, the second's.
const std::string& title_of(const PageContent& content);

Json page_data(const PageContent& content);

/// One self-contained page (tools/inspect/page/).
std::string print_html(const PageContent& content);

}  // namespace sheaf
