// A world of processes. A thread that sends or receives calls the engine itself, one thread at a time; one thread of each
// process watches the other processes, and ends all if one ends.
#pragma once

#include "runtime/world/messages.h"
#include "runtime/world/peers.h"
#include "runtime/world/world.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace sheaf {

class ProcessWorld : public World {
 public:
  using Open = std::function<Messages*(std::string& why)>;
  /// How long a process may give no sign of life, in this process's own running time.
  static constexpr std::chrono::duration<double> kSilence{5};

  /// How long the others may take to join, in the same time. Nobody can be asked before: on another machine, a process that was
  /// stopped as it started looks like one that loads slowly.
  static constexpr std::chrono::duration<double> kJoining{60};

  /// Joins the world on a thread of its own, which serves it until leave(). All ranks together. Errors: the engine's; not all have
  /// joined within `joining`, or one on this machine has been stopped for `silence`; after that the process can't join any world.
  static Result<std::shared_ptr<ProcessWorld>> open(const Open& engine, std::chrono::duration<double> silence = kSilence,
                                                    std::chrono::duration<double> joining = kJoining);
  /// After a failure waits a moment for the others, so that all have reported it before one ends; so report it before. Unless leave()
  /// or a failure came before, ends without telling the others, who treat it as a failure.
  ~ProcessWorld() override;

  int rank() const { return rank_; }
  /// This rank's number among the ranks of its machine.
  int local_rank() const { return local_rank_; }
  const std::string& library() const { return library_; }
  int size() const override { return size_; }
  bool here(int rank) const override { return rank == rank_; }

  Result<void> send(int from, int to, const void* data, size_t bytes) override;
  Result<void> receive(int to, int from, void* data, size_t bytes) override;
  Result<std::vector<std::string>> exchange(std::string mine) override;
  Result<void> broadcast(int root, void* data, size_t bytes) override;
  void fail(const Error& cause) override;
  std::optional<Error> failure() const override;

  /// The end of a run that all ranks reached. All ranks together.
  Result<void> leave();

 private:
  /// A message on its way, in parts if it is too large for one.
  struct Job {
    bool sends = false;
    int peer = 0;
    void* data = nullptr;
    size_t bytes = 0;
    size_t begun = 0;    ///< bytes in parts that were posted
    size_t posted = 0;   ///< of them, in the last one
    int operation = -1;  ///< that part's
    std::string problem = {};
  };
  /// What ranks tell each other besides data.
  struct Note {
    enum Kind : int {
      alive,
      failed,  ///< `rank` ends the run, for the reason in `text`
      lost,    ///< `rank` is gone, as another found
      ends,    ///< after a failure, `rank` has reported it and ends
    } kind = alive;
    int rank = 0;
    char text[1000] = {};
    Note() = default;
    Note(Kind kind, int rank, const std::string& message = {});
  };

  explicit ProcessWorld(std::chrono::duration<double> silence) : silence_(silence) {}
  /// Waits for the engine's answer. Errors: there is none by then; a process that it waits for is stopped.
  Result<void> joins_within(std::chrono::duration<double> limit) const;
  /// Posts it and waits; the calling thread calls the engine itself.
  Result<void> run(Job job);
  /// Whether it is done.
  bool advance(Job& job);
  /// Joins and leaves the world; in between, signs of life and reasons of failures.
  void serve(const Open& engine);
  void look_after_others();
  void receive_notes();
  void post_note();
  void tell(int rank, const Note& note);
  void tell_all(const Note& note);
  void tell_own_failure();
  void end_with_others();
  /// Whether all notes have been sent.
  bool notes_sent();
  void lose(int rank, const std::string& text);
  Error reason() const;

  const std::chrono::duration<double> silence_;
  int rank_ = 0, size_ = 1, local_rank_ = 0;
  std::string library_, joining_problem_;
  std::thread thread_;
  std::atomic<bool> joined_{false};

  mutable std::mutex mutex_;  ///< of these:
  std::condition_variable changed_;
  std::optional<Error> failure_;  ///< of another rank
  std::optional<Note> own_failure_;
  bool stop_ = false;              ///< leave() or the destructor
  bool leaves_ = false;            ///< with all others
  std::atomic<bool> lost_{false};  ///< some rank failed: no message is sent any more

  std::mutex engine_;  ///< of this:
  std::unique_ptr<Messages> messages_;

  // For the serving thread:
  std::unique_ptr<Peers> peers_;
  struct Outgoing {
    Note note;
    int operation;
  };
  std::list<Outgoing> outgoing_;
  Note incoming_;
  int incoming_operation_ = -1;
  std::vector<bool> ended_;  ///< by rank: no more to be heard of it
  std::chrono::steady_clock::time_point last_look_, last_told_;
  std::chrono::duration<double> silent_{0};     ///< since the left neighbour's last sign of life
  std::chrono::duration<double> peer_gone_{0};  ///< since a process was found to have ended
};

}  // namespace sheaf
