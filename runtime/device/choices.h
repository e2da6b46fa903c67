// Operations that a device can compute in several ways: what it chooses among, and what was measured of it (docs/cpu-choices.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// The ways in which a device can compute one operation, and the one that it took.
struct Selection {
  struct Candidate {
    std::string name;    ///< "winograd", "direct"
    double seconds = 0;  ///< by the device's model of costs: only ratios mean something
  };
  std::string key;  ///< all that the choice may depend on, the machine apart: operation, shapes, attributes, threads
  std::vector<Candidate> candidates;
  size_t taken = 0;

  const std::string& name() const { return candidates[taken].name; }
};

/// What is to be taken, whatever a device's model of costs says.
class Choices {
 public:
  virtual ~Choices() = default;
  /// The candidate's name for the operation `key`; empty: the model decides, as it does where there is no such candidate.
  virtual std::string_view candidate(std::string_view key) const = 0;
};

/// The same one for every operation that has it.
class OneChoice final : public Choices {
 public:
  explicit OneChoice(std::string name) : name_(std::move(name)) {}
  std::string_view candidate(std::string_view) const override { return name_; }

 private:
  std::string name_;
};

}  // namespace sheaf
