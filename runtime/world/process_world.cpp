#include "runtime/world/process_world.h"

#include "runtime/machine/blocked_signals.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace sheaf {
namespace {

using Clock = std::chrono::steady_clock;

/// An error as other ranks report it: with its place, without its notes.
std::string told(const Error& error) {
  const Diagnostic& cause = error.diagnostics.front();
  return cause.location.file.empty() ? cause.message
                                     : to_string(Diagnostic{cause.severity, cause.location, cause.message, {}, {}});
}

std::string seconds_text(std::chrono::duration<double> seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", seconds.count());
  return text;
}

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

Result<std::shared_ptr<ProcessWorld>> ProcessWorld::open(const Open& engine, std::chrono::duration<double> silence,
                                                         std::chrono::duration<double> joining) {
  std::shared_ptr<ProcessWorld> world(new ProcessWorld(silence));
  {
    const BlockedSignals signals;
    try {
      world->thread_ = std::thread([it = world.get(), engine] { it->serve(engine); });
    } catch (const std::system_error& error) {
      return Error(std::string("the thread that serves other processes can't be started: ") + error.what());
    }
  }
  if (auto joined = world->joins_within(joining); !joined) {
    // The thread is inside the engine, which can't be interrupted, so it keeps what it works on.
    static auto* const abandoned = new std::vector<std::shared_ptr<ProcessWorld>>;
    world->thread_.detach();
    abandoned->push_back(std::move(world));
    return joined.error();
  }
  if (!world->joining_problem_.empty()) return Error("the world of processes can't be joined: " + world->joining_problem_);
  SHEAF_ASSIGN(const auto introductions, world->exchange(Peers::introduction()));
  auto peers = std::make_unique<Peers>(introductions, world->rank_);
  world->local_rank_ = peers->local_rank();
  const std::lock_guard lock(world->mutex_);
  world->peers_ = std::move(peers);
  return world;
}

Result<void> ProcessWorld::joins_within(std::chrono::duration<double> limit) const {
  constexpr std::chrono::duration<double> kMostAtATime{0.1};  // if more: this process itself was stopped meanwhile
  constexpr std::chrono::duration<double> kBetweenLooks{0.1};
  std::chrono::duration<double> waited{0}, looked{0};
  Siblings siblings;
  for (auto last = Clock::now(); !joined_;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto now = Clock::now();
    waited += std::min<std::chrono::duration<double>>(now - last, kMostAtATime);
    last = now;
    if (waited >= limit) {
      return Error("the world of processes can't be joined: not all of them have come within " + seconds_text(limit) + " s")
          .note("one may be stopped, or still loading; or its machine can't be reached");
    }
    if (waited - looked < kBetweenLooks) continue;
    if (const int process = siblings.stopped_for(silence_, waited - looked))
      return Error("the world of processes can't be joined: process " + std::to_string(process) + " has been stopped for " +
                   seconds_text(silence_) + " s")
          .note("the launcher has started it beside this one");
    looked = waited;
  }
  return {};
}

ProcessWorld::~ProcessWorld() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<void> ProcessWorld::send(int, int to, const void* data, size_t bytes) {
  return run({true, to, const_cast<void*>(data), bytes});
}

Result<void> ProcessWorld::receive(int, int from, void* data, size_t bytes) { return run({false, from, data, bytes}); }

Result<void> ProcessWorld::run(Job job) {
  const auto begun = Clock::now();
  for (int round = 0;; ++round) {
    {
      const std::lock_guard lock(engine_);
      if (lost_) {
        if (job.operation >= 0 && messages_) messages_->abandon(job.operation);
        return reason();
      }
      if (advance(job)) break;
    }
    // The waits get longer and longer, so that waiting for a slower rank costs no core. They never yield: if a device computes on the
    // same core, a yield gives away the rest of a time slice, milliseconds for each message; a thread that wakes from sleep runs at once.
    if (round < 50) continue;
    constexpr std::chrono::microseconds kShortest(20), kLongest(1000);
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun);
    std::this_thread::sleep_for(std::clamp(waited / 16, kShortest, kLongest));
  }
  if (job.problem.empty()) return {};
  lose(job.peer, job.problem);
  return reason();
}

Error ProcessWorld::reason() const {
  auto cause = failure();
  return cause ? *std::move(cause) : Error("this rank has ended the run");
}

void ProcessWorld::fail(const Error& cause) {
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return;  // not the first
    lost_ = true;
    own_failure_ = Note(Note::failed, rank_, told(cause));
  }
  changed_.notify_all();
}

std::optional<Error> ProcessWorld::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Result<void> ProcessWorld::leave() {
  SHEAF_TRY(exchange(""));  // nobody is watched any more once all have come here
  {
    const std::lock_guard lock(mutex_);
    stop_ = leaves_ = true;
  }
  changed_.notify_all();
  thread_.join();
  return {};
}

void ProcessWorld::serve(const Open& engine) {
  messages_.reset(engine(joining_problem_));
  if (messages_) {
    rank_ = messages_->rank();
    size_ = messages_->size();
    ended_.resize(static_cast<size_t>(size_));
    library_ = messages_->library();
  } else if (joining_problem_.empty()) {
    joining_problem_ = "the engine gives no reason";
  }
  const bool works = messages_ != nullptr;
  joined_ = true;
  if (!works) return;
  {
    const std::lock_guard lock(engine_);
    post_note();
  }
  last_look_ = last_told_ = Clock::now();
  bool leaves = false;
  for (bool ends = false; !ends;) {
    {
      std::unique_lock lock(mutex_);
      if (!stop_ && !own_failure_) changed_.wait_for(lock, std::chrono::milliseconds(20));
      ends = stop_;
      leaves = leaves_;
    }
    const std::lock_guard lock(engine_);
    if (!leaves) look_after_others();
  }
  const std::lock_guard lock(engine_);
  if (lost_) end_with_others();
  if (incoming_operation_ >= 0) {
    messages_->abandon(incoming_operation_);
    static_cast<void>(messages_->state(incoming_operation_));
  }
  // Otherwise without a farewell, which would wait for the others.
  if (leaves) messages_->leave();
}

/// Messages of one sender arrive in the order of sending, so parts need no numbers.
bool ProcessWorld::advance(Job& job) {
  for (;;) {
    if (job.operation >= 0) {
      const Messages::State state = messages_->state(job.operation);
      if (!state.done) return false;
      job.operation = -1;
      if (state.failed) {
        job.problem = "it can't be reached: " + state.text;
        return true;
      }
      if (!job.sends && state.bytes != job.posted) {
        job.problem = "it sent " + std::to_string(state.bytes) + " bytes where " + rank_text(rank_) + " expects " +
                      std::to_string(job.posted);
        return true;
      }
      job.begun += job.posted;
      if (job.begun == job.bytes) return true;
    }
    job.posted = std::min(job.bytes - job.begun, Messages::kMostBytes);
    char* part = static_cast<char*>(job.data) + job.begun;
    job.operation = job.sends ? messages_->send(Messages::data, job.peer, part, job.posted)
                              : messages_->receive(Messages::data, job.peer, part, job.posted);
  }
}

/// Each rank sends its right neighbour signs of life, and watches for those of its left one.
void ProcessWorld::look_after_others() {
  constexpr std::chrono::duration<double> kLongestRound{
      0.25};  // the longest time since the last one: this process may have slept
  const auto now = Clock::now();
  receive_notes();
  std::optional<Peers::Gone> gone;
  {
    const std::lock_guard lock(mutex_);
    if (!lost_ && peers_) gone = peers_->gone();
  }
  tell_own_failure();
  if (now - last_told_ > std::chrono::milliseconds(500) && notes_sent()) {
    last_told_ = now;
    tell((rank_ + 1) % size_, Note(Note::alive, rank_));
  }
  const auto since = std::min<std::chrono::duration<double>>(now - last_look_, kLongestRound);
  last_look_ = now;
  silent_ += since;
  if (lost_) return;
  // A rank that ends with a reason has sent it before; it may still be on its way.
  peer_gone_ = gone ? peer_gone_ + since : std::chrono::duration<double>(0);
  if (gone && peer_gone_ > std::chrono::milliseconds(200)) return lose(gone->rank, gone->what);
  if (silent_ > silence_)
    lose((rank_ + size_ - 1) % size_, "it has given no sign of life for " + std::to_string(static_cast<int>(silence_.count())) +
                                          " s: it was stopped, or can't be reached");
}

/// The launcher kills all processes as soon as one ends with an error. So each ends once all have come this far, each having reported
/// the failure; it doesn't wait long for one that is in the middle of something.
void ProcessWorld::end_with_others() {
  constexpr std::chrono::seconds kLongest(2);
  tell_own_failure();
  tell_all(Note(Note::ends, rank_));
  for (const auto begin = Clock::now(); Clock::now() - begin < kLongest;
       std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    receive_notes();
    bool all = notes_sent();
    for (int rank = 0; all && rank < size_; ++rank)
      all = rank == rank_ || ended_[static_cast<size_t>(rank)] || (peers_ && peers_->ended(rank));
    if (all) return;
  }
}

void ProcessWorld::tell(int rank, const Note& note) {
  outgoing_.push_back({note, -1});
  Outgoing& last = outgoing_.back();
  last.operation = messages_->send(Messages::control, rank, &last.note, sizeof last.note);
}

void ProcessWorld::tell_all(const Note& note) {
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_) tell(rank, note);
}

void ProcessWorld::tell_own_failure() {
  std::optional<Note> mine;
  {
    const std::lock_guard lock(mutex_);
    mine = std::exchange(own_failure_, std::nullopt);
  }
  if (!mine) return;
  if (mine->kind == Note::lost) ended_[static_cast<size_t>(mine->rank)] = true;
  tell_all(*mine);
}

ProcessWorld::Note::Note(Kind kind, int rank, const std::string& message) : kind(kind), rank(rank) {
  std::memcpy(text, message.data(), std::min(message.size(), sizeof text - 1));
}

void ProcessWorld::post_note() {
  incoming_operation_ = messages_->receive(Messages::control, Messages::kAny, &incoming_, sizeof incoming_);
}

void ProcessWorld::receive_notes() {
  while (incoming_operation_ >= 0) {
    const Messages::State state = messages_->state(incoming_operation_);
    if (!state.done) return;
    incoming_operation_ = -1;
    if (state.failed) return;  // those that are gone are missed
    const Note note = incoming_;
    post_note();
    silent_ = std::chrono::duration<double>(0);
    if (note.kind == Note::ends || note.kind == Note::lost) ended_[static_cast<size_t>(note.rank)] = true;
    if (note.kind != Note::failed && note.kind != Note::lost) continue;
    const std::lock_guard lock(mutex_);
    if (lost_) continue;
    lost_ = true;
    failure_ = Error(rank_text(note.rank) + ": " + note.text);
  }
}

/// Rank `rank` is gone: this rank is the first to report it, or one of the first.
void ProcessWorld::lose(int rank, const std::string& text) {
  const Note note(Note::lost, rank, text);
  const std::lock_guard lock(mutex_);
  if (lost_) return;
  lost_ = true;
  failure_ = Error(rank_text(rank) + ": " + note.text);
  own_failure_ = note;  // for the others
}

bool ProcessWorld::notes_sent() {
  std::erase_if(outgoing_, [&](const Outgoing& one) { return one.operation < 0 || messages_->state(one.operation).done; });
  return outgoing_.empty();
}

}  // namespace sheaf
