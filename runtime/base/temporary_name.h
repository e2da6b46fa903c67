// The name that an output has while it isn't the final one, and that no signal leaves behind.
#pragma once

#include <string>
#include <string_view>

namespace sheaf {

/// `name` as a file is called that isn't yet whole or not yet in its place: "w.safetensors.sheaf-new". `ending` tells
/// apart those that must not meet. Shorter where a file's name could not be so long.
std::string temporary_name(std::string_view name, std::string_view ending);
/// What temporary_name() made `name` of; empty if it made none.
std::string_view finished_name(std::string_view name);

/// While one of these exists, a signal that ends the process removes the file first: HUP, INT, TERM, QUIT, PIPE, ALRM,
/// USR1 and the like, as far as they still do what they do by default. A file that is gone by then does no harm. Where
/// more than 16 exist at once, the others are not guarded.
class SignalGuard {
 public:
  /// `folder`: a descriptor, which stays open meanwhile; `name`: in it.
  SignalGuard(int folder, const std::string& name);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  int slot_ = -1;
};

}  // namespace sheaf
