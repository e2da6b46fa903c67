// Operations that a device can compute in several ways: the candidates, and their measurements (docs/cpu-choices.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// The ways in which a device can compute one operation, and the one it chose.
struct Selection {
  struct Candidate {
    std::string name;    ///< "winograd", "direct"
    double seconds = 0;  ///< by the device's cost model: only ratios mean something
  };
  std::string key;  ///< everything the choice may depend on, apart from the machine: operation, shapes, attributes, threads
  std::vector<Candidate> candidates;
  size_t taken = 0;

  const std::string& name() const { return candidates[taken].name; }
};

/// The candidates to use, whatever a device's cost model says.
class Choices {
 public:
  virtual ~Choices() = default;
  /// The candidate's name for the operation `key`; empty, or the name of a missing candidate: the cost model decides.
  virtual std::string_view candidate(std::string_view key) const = 0;
};

/// The same candidate for every operation that has it.
class OneChoice final : public Choices {
 public:
  explicit OneChoice(std::string name) : name_(std::move(name)) {}
  std::string_view candidate(std::string_view) const override { return name_; }

 private:
  std::string name_;
};

}  // namespace sheaf
