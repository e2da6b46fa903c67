// What verification found, for people and for programs.
#pragma once

#include "runtime/plan/plan.h"
#include "tools/verify/comparison.h"

#include <optional>

namespace sheaf {

/// A value of the program, on all replicas and in all steps of a verification.
struct ValueDifference {
  std::string name, layer, op;
  ValueLayout layout;
  int compared = 0;       ///< tensors, each replica's counted separately
  Difference alone;       ///< of each operation, given the reference's operands
  Difference end_to_end;  ///< of the whole run: errors of all operations before it included

  void merge(const ValueDifference& other);
};

/// The first value that isn't as expected.
struct Divergence {
  std::string check;  ///< "operation", "update", "run", "model", "compiler", "against": the check that found it
  std::string layer, value, op;
  int step = -1;     ///< in the program
  int replica = -1;  ///< -1 outside regions, or if no replica is at fault by itself
  std::string device;
  std::vector<int64_t> index;      ///< of the element in the whole value
  double expected = 0, found = 0;  ///< its value in the reference, and in the run
  double tolerance = 0;
  std::string explanation;  ///< a sentence on what the value is, and what was found
  Location location;        ///< of the layer in the model file
};

struct ProgramVerification {
  std::string program;  ///< "infer", "train"
  /// "operations": each of the partitioned run, against the unpartitioned program. "model": the whole run, against the model
  /// compiled by itself without regions and fusions; "compiler": the same with the plan only on the host. "against": against
  /// the results of another framework.
  std::string check = "operations";
  int steps = 1;                           ///< training steps; inference is one
  bool counts_steps = false;               ///< whether there might have been several
  std::vector<ValueDifference> values;     ///< in the order of the program; those compared
  std::vector<ValueDifference> gradients;  ///< of training: by parameter
  std::vector<ValueDifference> updated;    ///< parameters, buffers and state after each step
  std::optional<Divergence> divergence;

  /// The same by layer, in the order of the program, without the run's inputs.
  std::vector<ValueDifference> layers() const;
};

struct Verification {
  std::string model, devices;
  int64_t batch = 0;
  std::vector<ProgramVerification> programs;

  bool passed() const;
};

/// One table per program, and the divergence if there is one.
std::string to_text(const Verification& verification);
Json to_json(const Verification& verification);
/// "layer 'fc', replica 1 on cpu:1: …" with index and both values.
std::string to_text(const Divergence& divergence);

}  // namespace sheaf
