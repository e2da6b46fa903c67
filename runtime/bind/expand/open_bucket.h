// Steps whose operands are there, and whose results are made together.
#pragma once

#include "runtime/plan/plan.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace sheaf {

/// A bucket that fills. It is complete when it is full, or when something reads what it makes.
template <typename Member>
class OpenBucket {
 public:
  const std::vector<Member>& members() const { return members_; }
  bool empty() const { return members_.empty(); }
  size_t bytes() const { return bytes_; }
  /// How many were complete before.
  size_t number() const { return number_; }
  bool full(std::span<const size_t> limits) const { return bytes_ >= limits[std::min(number_, limits.size() - 1)]; }
  bool makes_any(const std::vector<int>& values) const {
    return std::ranges::any_of(values, [&](int value) { return makes_.contains(value); });
  }
  /// `makes`: the value of the program that it will define.
  void add(Member member, int makes, size_t bytes) {
    members_.push_back(std::move(member));
    makes_.insert(makes);
    bytes_ += bytes;
  }
  /// The next one begins.
  void close() {
    members_.clear();
    makes_.clear();
    bytes_ = 0;
    ++number_;
  }

 private:
  std::vector<Member> members_;
  std::set<int> makes_;
  size_t bytes_ = 0, number_ = 0;
};

}  // namespace sheaf
