// A binding's description of its operations.
#pragma once

#include "runtime/cost/cost.h"
#include "runtime/device/device.h"

#include <optional>
#include <string>
#include <vector>

namespace sheaf {

struct BoundProgram;
class DeviceSet;

/// One operation as bound, in order.
struct OperationInfo {
  Op op{};  ///< the step's, or an operation inserted by binding
  std::string kernel;
  std::string layer;
  std::string lane;
  int step = -1;           ///< in Program::steps; -1 for inserted copies to outputs
  std::vector<int> steps;  ///< of an operation that works for several steps: all of them
  std::string launch;      ///< "update of 62 parameters": the launch that this is part of; empty: a separate launch
  int replica = -1;
  std::string implementation;                         ///< "jit:avx512_core", "generated", "reorder nchw to nChw16c"
  std::string reason;                                 ///< why that implementation; for a reorder: what asked for it
  std::string uncertain;                              ///< Prepared::uncertain
  std::vector<std::string> inputs, outputs;           ///< names of values, in step order
  std::vector<TensorSpec> input_specs, output_specs;  ///< of the same
  std::vector<bool> from_weights;                     ///< by input: made when weights are set, not at each run
  std::optional<size_t> copied;                       ///< of a copy: bytes that it reads, and writes; 0 if it is left out
};

/// The op of a member of an operation among devices: OperationInfo::op.
Op op_of(CollectiveRequest::Kind kind);

/// Of an operation of `program`, or one that binding added. A copy costs what it copies, not the tensors that it is a part of.
Cost cost_of(const Plan& plan, const Program& program, const OperationInfo& operation);

/// One for each instance of `bound`, which is `program` expanded, in their order.
std::vector<OperationInfo> describe_operations(const BoundProgram& bound, const Program& program, const DeviceSet& devices);

}  // namespace sheaf
