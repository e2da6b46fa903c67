// Work that was started and not waited for: whoever uses what it uses finishes it first.
#pragma once

namespace sheaf {

class Unfinished {
 public:
  virtual ~Unfinished() = default;
  /// Returns when all of it is done, and forgotten by everyone who was told of it. Its results are kept. Does nothing if there is none.
  virtual void settle() = 0;
};

}  // namespace sheaf
