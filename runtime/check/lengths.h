// Lengths: sizes besides the batch that a run determines. A plan has them as symbols; numbers take their place before it is bound.
#pragma once

#include "runtime/base/length.h"
#include "runtime/plan/plan.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// Among Plan::requires_: sizes depend on lengths.
inline constexpr const char* kLengthsFeature = "lengths";

/// The lengths of all of the plan's programs, each once, and the largest number that all of them have room for.
std::vector<Length> lengths_of(const Plan& plan);

/// Whether sizes of `program` depend on the length of this name.
bool has_length(const Program& program, const std::string& name);

/// Errors, located at the plan: a length without a number, a number for something that is no length, one below 1 or above the largest.
Result<void> check_lengths(const Plan& plan, const LengthNumbers& numbers);

/// The plan with numbers for all its lengths: its sizes are in the batch alone, and if it holds code, it is checked. Errors: those
/// of check_lengths().
Result<Plan> with_lengths(Plan plan, const LengthNumbers& numbers);

/// check(); a plan with lengths is checked with their largest numbers.
Result<void> check_sizes(const Plan& plan, const std::string& file);

/// The numbers that given data and options state.
class GivenLengths {
 public:
  /// `by` states that the length is `number`: "--length", "input 'tokens'". Error: another one stated another number.
  Result<void> add(const std::string& length, int64_t number, const std::string& by);
  /// Sizes of a tensor whose shape a plan states in its symbols: those that are lengths. What doesn't fit is left to the caller's
  /// own check of shapes. Errors: as above; a number below 1 or above the length's largest.
  Result<void> add(const std::vector<Length>& lengths, const std::vector<Extent>& shape, std::span<const int64_t> sizes,
                   const std::string& by);
  LengthNumbers numbers() const;

 private:
  struct Given {
    int64_t number;
    std::string by;
  };
  std::map<std::string, Given> given_;
};

}  // namespace sheaf
