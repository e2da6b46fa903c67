// The engine of a world: messages between processes that were started together. Its only implementation, MPI's, is a separate
// shared object (runtime/world/mpi), which is opened only under a launcher; so this file uses nothing of the project.
#pragma once

#include <cstddef>
#include <string>

namespace sheaf {

/// Non-blocking messages. Used by one thread at a time; the thread that opened it also ends it. Messages from one process to
/// another arrive in the order in which they were sent, by channel.
class Messages {
 public:
  enum Channel { data, control };
  static constexpr int kAny = -1;
  /// The largest message.
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

  /// Each begins an operation and returns its number, which is valid until state() has reported it done; its memory must stay
  /// until then. `from` may be kAny.
  virtual int send(Channel channel, int to, const void* bytes, size_t size) = 0;
  virtual int receive(Channel channel, int from, void* bytes, size_t size) = 0;
  virtual State state(int operation) = 0;
  /// Nobody asks for its state any more: as far as possible its memory isn't accessed from here on.
  virtual void abandon(int operation) = 0;

  /// Leaves the world, as all processes do now; nothing may be called afterwards.
  virtual void leave() = 0;
};

/// The shared object exports it as "sheaf_open_messages": joins the world that a launcher has made. Null if that fails, with
/// the reason in `why`.
using OpenMessages = Messages* (*)(std::string& why);

}  // namespace sheaf
