// A queue that works at once but claims not to, and notes the calls.
#pragma once

#include "runtime/device/operation.h"
#include "runtime/device/device.h"
#include "runtime/device/overlapping_runs.h"

#include <atomic>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace sheaf {

/// Writes its name where it is launched; may fail, and refuse to be guarded, recorded or merged.
struct NotedExecutable : Executable {
  explicit NotedExecutable(std::string name) : name(std::move(name)) {}
  void run(void* const*, void*) override {}
  bool reports_by_phase() const override { return true; }
  bool failed(int phase) const override { return fails || fails_in == phase; }
  std::string failure(int) const override { return name + " failed"; }
  bool recordable() const override { return records; }
  bool guardable() const override { return guards; }
  std::string name;
  int fails_in = -1;       ///< a phase
  bool no_memory = false;  ///< for its launch
  bool fails = false, records = true, guards = true;
};

struct NotedEvent : Event {
  Result<void> synchronize() override {
    if (!problem.empty()) return Error(problem);
    return {};
  }
  std::string name, problem;
};

struct NotedWork : RecordedWork {
  std::vector<std::string> calls;
};

class NotingQueue : public Queue {
 public:
  void begin_run() override { note("begin"); }
  void launch(Executable& executable, void* const*, void*, bool guarded) override {
    const auto& noted = static_cast<NotedExecutable&>(executable);
    if (noted.no_memory) throw std::bad_alloc();
    note((guarded ? "guarded " : "") + noted.name);
  }
  void copy(void*, const void*, const CopyShape&, bool guarded) override { note(guarded ? "guarded copy" : "copy"); }
  void fetch(void*, const void* const*, std::span<const CopyPart> parts) override {
    note("fetch " + std::to_string(parts.size()));
  }
  void record(Event& event) override { note("record " + static_cast<NotedEvent&>(event).name); }
  Result<void> wait(Event& event) override {
    note("wait " + static_cast<NotedEvent&>(event).name);
    return event.synchronize();
  }
  Result<void> synchronize() override {
    note("synchronize");
    if (!problem.empty()) return Error(problem);
    return {};
  }
  bool records() const override { return recording_allowed; }
  Result<void> begin_recording() override {
    note("begin recording");
    recorded_ = std::make_unique<NotedWork>();
    return {};
  }
  Result<std::unique_ptr<RecordedWork>> end_recording() override {
    auto work = std::move(recorded_);
    note("end recording");
    if (!recording_problem.empty()) return Error(recording_problem);
    for (const std::string& call : static_cast<NotedWork&>(*work).calls) {
      if (call == unrecordable) return Error(call + " cannot be captured");
    }
    return std::unique_ptr<RecordedWork>(std::move(work));
  }
  void replay(RecordedWork& work) override {
    std::string all = "replay";
    for (const std::string& call : static_cast<NotedWork&>(work).calls) all += " " + call;
    note(all);
  }

  /// The calls since the last call of this.
  std::vector<std::string> take() { return std::exchange(calls_, {}); }
  std::string problem, recording_problem;
  std::string unrecordable;  ///< what no recording may contain
  bool recording_allowed = true;

 protected:
  void note(std::string call) {
    if (recorded_) recorded_->calls.push_back(call);
    calls_.push_back(std::move(call));
  }

 private:
  std::vector<std::string> calls_;
  std::unique_ptr<NotedWork> recorded_;
};

/// One on which two runs may be under way.
class OverlappingQueue : public NotingQueue, public OverlapsRuns {
 public:
  void begin_run() override { begin_run(RunBegin()); }
  void begin_run(const RunBegin& begin) override {
    std::string call = "begin " + std::to_string(begin.phase) + (begin.clears ? " clear" : "");
    for (Event* event : begin.after) call += " after " + static_cast<NotedEvent*>(event)->name;
    note(call);
  }
  void end_run(Event& end) override { note("end " + static_cast<NotedEvent&>(end).name); }
  Result<void> finish_run() override {
    note("finish");
    if (!problem.empty()) return Error(problem);
    return {};
  }
  bool disturbed() const override { return is_disturbed; }
  bool is_disturbed = false;
};

}  // namespace sheaf
