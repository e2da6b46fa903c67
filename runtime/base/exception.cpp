#include "runtime/base/exception.h"

#include <array>
#include <exception>
#include <mutex>
#include <new>

namespace sheaf {
namespace {

/// Errors made beforehand, for when there is no memory for one.
class Reserve {
 public:
  Reserve() { refill(); }

  Error take() {
    const std::lock_guard lock(mutex_);
    // With all of them in use at once nothing can be said any more.
    if (left_ == 0) std::terminate();
    return std::move(errors_[--left_]);
  }
  void refill() {
    const std::lock_guard lock(mutex_);
    for (; left_ < errors_.size(); ++left_) errors_[left_] = Error(kNoMemory);
  }

 private:
  std::mutex mutex_;
  std::array<Error, 32> errors_;
  size_t left_ = 0;
};

Reserve reserve;

}  // namespace

Error error_of_exception() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      reserve.refill();
      return Error(kNoMemory);
    } catch (const std::exception& thrown) {
      return Error(std::string("internal error: ") + thrown.what());
    } catch (...) {
      return Error("internal error: an unknown exception");
    }
  } catch (...) {  // no memory for the text
    return reserve.take();
  }
}

}  // namespace sheaf
