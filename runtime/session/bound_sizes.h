// A model's bindings for a whole batch, and for smaller ones as they occur.
#pragma once

#include "runtime/base/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <utility>

namespace sheaf {

/// By number of rows, the most recently used first. Of the smaller batches, the least recently used are dropped. References
/// stay valid as long as their targets are kept.
template <typename Bound>
class BoundSizes {
 public:
  /// Batches of at most `batch` rows, of at most `most` sizes at a time. `holder` names it in messages: "trainer".
  BoundSizes(const char* holder, int64_t batch, size_t most) : holder_(holder), batch_(batch), most_(most) {}

  int64_t batch() const { return batch_; }

  /// Bound to `rows` rows, by bind(rows) if it wasn't before. Errors: more rows than the whole batch, or fewer than 0; bind's.
  template <typename Bind>
  Result<Bound*> of(int64_t rows, Bind bind) {
    if (rows != batch_ && (rows < 0 || rows > batch_)) {
      return Error("a batch of " + std::to_string(rows) + " rows; this " + holder_ + " is bound to batches of " +
                   std::to_string(batch_) + " rows, and to smaller ones");
    }
    const auto known = std::ranges::find(bound_, rows, &std::pair<int64_t, Bound>::first);
    if (known != bound_.end()) {
      bound_.splice(bound_.begin(), bound_, known);
      return &bound_.front().second;
    }
    SHEAF_ASSIGN(auto made, bind(rows));
    bound_.emplace_front(rows, std::move(made));
    if (bound_.size() > most_) {
      auto last = std::prev(bound_.end());
      if (last->first == batch_) --last;
      bound_.erase(last);
    }
    return &bound_.front().second;
  }

  /// The whole batch's binding, which must have been made first.
  const Bound& whole() const { return std::ranges::find(bound_, batch_, &std::pair<int64_t, Bound>::first)->second; }

 private:
  const char* holder_;
  int64_t batch_;
  size_t most_;
  std::list<std::pair<int64_t, Bound>> bound_;
};

}  // namespace sheaf
