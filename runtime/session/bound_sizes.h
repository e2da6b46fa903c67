// A model's bindings for a whole batch and the lengths given with it, and for others as they occur.
#pragma once

#include "runtime/base/error.h"
#include "runtime/base/length.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <utility>

namespace sheaf {

/// What a run's data determines.
struct BoundSize {
  int64_t rows = 0;
  LengthNumbers lengths{};
  bool operator==(const BoundSize&) const = default;
};

/// By number of rows and lengths, the most recently used first. Of those besides the whole batch, the least recently used are dropped. References
/// stay valid as long as their targets are kept.
template <typename Bound>
class BoundSizes {
 public:
  /// Batches of at most `whole.rows` rows, of at most `most` sizes at a time. `holder` names it in messages: "trainer".
  BoundSizes(const char* holder, BoundSize whole, size_t most) : holder_(holder), whole_(std::move(whole)), most_(most) {}

  const BoundSize& whole_size() const { return whole_; }
  int64_t batch() const { return whole_.rows; }
  /// Those that the whole batch is bound with.
  const LengthNumbers& lengths() const { return whole_.lengths; }

  /// Bound to `size`, by bind(size) if it wasn't before. Errors: more rows than the whole batch, or fewer than 0; bind's.
  template <typename Bind>
  Result<Bound*> of(const BoundSize& size, Bind bind) {
    if (size.rows != batch() && (size.rows < 0 || size.rows > batch())) {
      return Error("a batch of " + std::to_string(size.rows) + " rows; this " + holder_ + " is bound to batches of " +
                   std::to_string(batch()) + " rows, and to smaller ones");
    }
    const auto known = std::ranges::find(bound_, size, &std::pair<BoundSize, Bound>::first);
    if (known != bound_.end()) {
      bound_.splice(bound_.begin(), bound_, known);
      return &bound_.front().second;
    }
    SHEAF_ASSIGN(auto made, bind(size));
    bound_.emplace_front(size, std::move(made));
    if (bound_.size() > most_) {
      auto last = std::prev(bound_.end());
      if (last->first == whole_) --last;
      bound_.erase(last);
    }
    return &bound_.front().second;
  }

  /// The whole batch's binding, which must have been made first.
  const Bound& whole() const { return std::ranges::find(bound_, whole_, &std::pair<BoundSize, Bound>::first)->second; }

 private:
  const char* holder_;
  BoundSize whole_;
  size_t most_;
  std::list<std::pair<BoundSize, Bound>> bound_;
};

}  // namespace sheaf
