// The name of an output until it gets its final one. No signal leaves such a file behind.
#pragma once

#include <string>
#include <string_view>

namespace sheaf {

/// The name of a file that isn't complete or not in its place yet: "w.safetensors.sheaf-new" for `name`. Different `ending`s
/// keep files apart. It is shorter if a file's name could not be that long.
std::string temporary_name(std::string_view name, std::string_view ending);
/// The `name` from which temporary_name() made this one; empty if it didn't.
std::string_view finished_name(std::string_view name);

/// While one of these exists, a signal that ends the process removes the file first: HUP, INT, TERM, QUIT, PIPE, ALRM,
/// USR1 and the like, as long as they have their default action. A missing file does no harm. If
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
