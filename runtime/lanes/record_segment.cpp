// Segments of asynchronous lanes as recorded work. A driver or a library may refuse to record an operation; the step then does
// without the recording, and says so.
#include "runtime/lanes/executor.h"

#include <cstdio>

namespace sheaf {

Result<std::unique_ptr<RecordedWork>> Executor::recorded(Lane& lane, uint32_t first, uint32_t end) {
  Queue& queue = *lane.program.queue;
  SHEAF_TRY(queue.begin_recording());
  for (uint32_t l = first; l < end; ++l) enqueue(lane, lane.program.launches[l]);
  return queue.end_recording();
}

void Executor::record(Lane& lane, LaneSegment& segment) {
  auto work = recorded(lane, segment.first, segment.end);
  if (work) {
    segment.work[lane.program.second][phase_] = std::move(*work);
    return;
  }
  lane.unrecordable.push_back(&segment);
  // A driver says only that a recording was spoilt: each launch by itself tells by which.
  Error problem = work.error();
  for (uint32_t l = segment.first; l < segment.end; ++l) {
    if (auto alone = recorded(lane, l, l + 1); !alone) {
      problem = alone.error();
      break;
    }
  }
  lane.problems.push_back(problem.message() + "; so " + std::to_string(segment.end - segment.first) +
                          " launches of each step are made one by one, not replayed as a graph");
}

void Executor::report_unrecorded(Lane& lane) {
  for (const std::string& problem : lane.problems) std::fprintf(stderr, "warning: %s\n", problem.c_str());
  lane.problems.clear();
}

}  // namespace sheaf
