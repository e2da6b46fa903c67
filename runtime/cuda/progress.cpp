#include "runtime/cuda/progress.h"

namespace sheaf::cuda {
namespace {

void note(std::string& text, std::string_view what, size_t most) { text.assign(what.substr(0, most)); }

}  // namespace

Progress::~Progress() {
  for (Mark& mark : marks_) {
    if (mark.event) driver_.destroy(mark.event);
  }
}

Result<void> Progress::open(int device) {
  last_.what.reserve(kText);
  done_.what.reserve(kText);
  for (Mark& mark : marks_) {
    mark.note.what.reserve(kText);
    SHEAF_ASSIGN(auto event, driver_.make_event(device));
    mark.event = event;
  }
  return {};
}

void Progress::enqueued(std::string_view what, Stream stream) {
  const std::lock_guard lock(mutex_);
  ++last_.number;
  note(last_.what, what, kText);
  if (last_.number % kEvery != 0) return;
  if (count_ == kMarks) look();
  if (count_ == kMarks) return;
  Mark& mark = marks_[(first_ + count_) % kMarks];
  if (!driver_.record(mark.event, stream)) return;  // what is wrong shows when the work itself is waited for
  mark.note.number = last_.number;
  note(mark.note.what, what, kText);
  ++count_;
}

void Progress::finished() {
  const std::lock_guard lock(mutex_);
  count_ = 0;
  done_.number = last_.number;
  note(done_.what, last_.what, kText);
}

void Progress::look() {
  while (count_ > 0) {
    Mark& mark = marks_[first_];
    auto done = driver_.done(mark.event);
    if (!done || !*done) return;
    done_.number = mark.note.number;
    note(done_.what, mark.note.what, kText);
    first_ = (first_ + 1) % kMarks;
    --count_;
  }
}

uint64_t Progress::done() {
  const std::lock_guard lock(mutex_);
  look();
  return done_.number;
}

std::string Progress::report() {
  const std::lock_guard lock(mutex_);
  look();
  const auto words = [](const Note& what) {
    return what.number == 0 ? "nothing" : what.what + " (operation " + std::to_string(what.number) + ")";
  };
  return name_ + ": last put into its queue: " + words(last_) + "; last known to be done: " + words(done_);
}

}  // namespace sheaf::cuda
