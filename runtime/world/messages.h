// What the engine of a world does: messages between processes that were started together. Its only implementation, MPI's, is in a
// shared object of its own (runtime/world/mpi), which is opened under a launcher alone; so this file uses nothing of the project.
#pragma once

#include <cstddef>
#include <string>

namespace sheaf {

/// Non-blocking messages. Used by one thread at a time; the one that opened it also ends it. Messages from one process to another arrive in the order in which
/// they were sent, by channel.
class Messages {
 public:
  enum Channel { data, control };
  static constexpr int kAny = -1;
  /// The most that one message holds.
  static constexpr size_t kMostBytes = size_t{1} << 30;

  struct State {
    bool done = false;
    bool failed = false;  ///< `text` says why
    size_t bytes = 0;     ///< of a message received
    std::string text = {};
  };

  virtual ~Messages() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "Open MPI v4.1.4": the library at hand.
  virtual std::string library() const = 0;

  /// Each begins an operation and returns its number, which holds until state() has said that it is done; its memory stays until then.
  /// `from` may be kAny.
  virtual int send(Channel channel, int to, const void* bytes, size_t size) = 0;
  virtual int receive(Channel channel, int from, void* bytes, size_t size) = 0;
  virtual State state(int operation) = 0;
  /// Nobody asks for its state any more: as far as possible its memory isn't touched from here on.
  virtual void abandon(int operation) = 0;

  /// Leaves the world, as all processes do now; nothing may be called afterwards.
  virtual void leave() = 0;
};

/// What the shared object exports as "sheaf_open_messages": joins the world that a launcher has made. Null if that fails; `why` says why.
using OpenMessages = Messages* (*)(std::string& why);

}  // namespace sheaf
