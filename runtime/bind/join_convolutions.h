// Convolutions joined with the batch norms around them, for devices whose libraries have both as one operation. Of those that fuse norms
// (DeviceInfo::fuses_norms) binding asks by preparing it, since it depends on types and sizes. The convolution in front of a batch norm
// makes its statistics; the one behind it and its ReLU normalises what it reads, as does its gradient by weight; and its gradient by data
// makes the norm's of weight and bias. docs/binding.md, "Joined convolutions", has the operations.
#pragma once

#include "runtime/bind/fuse_norms.h"

#include <functional>
#include <optional>

namespace sheaf {

/// How much of a batch norm's work is joined with convolutions.
enum class Joined : uint8_t {
  nothing,
  statistics,  ///< the convolution in front makes mean and variance; the norm is one pass
  gradient,    ///< and the gradient of the convolution behind it and its ReLU those of weight and bias; that of x is one pass
  whole,       ///< and the convolution behind it, and its gradients, normalise what they read: the norm itself isn't done
};

/// A batch norm and the steps around it.
struct ConvNorm {
  StepId conv, norm;
  /// The gradient by data of a convolution that reads what the norm's ReLU makes, the ReLU's gradient of it (and of others, in a sum), and
  /// the norm's. None: gradients can't be joined.
  StepId data, relu_backward, norm_backward;
  /// That convolution and its gradient by weight, the only readers. None: the norm can't be joined as a whole.
  StepId next, next_weight;

  Joined most() const { return next ? Joined::whole : data ? Joined::gradient : Joined::statistics; }
};

class ConvNorms {
 public:
  /// How much of the batch norm `norm` a replica joins.
  using Levels = std::function<Joined(StepId norm)>;

  ConvNorms() = default;  ///< of nothing
  /// `fusions`: those of `program`, which the device also makes.
  ConvNorms(const Program& program, const NormFusions& fusions);

  /// The batch norm whose statistics the convolution `step` can make; null: there is none.
  const ConvNorm* behind(StepId step) const;
  /// What to do instead of `base`, which is `step` or what NormFusions does instead of it; a step without outputs: nothing. None: `base`.
  std::optional<Step> joined(StepId step, const Step& base, const Levels& levels) const;

 private:
  struct Readers;
  void add(const Program& program, const NormFusions& fusions, const Readers& readers, StepId norm);
  // They fill in what stands behind the norm, where it can be joined.
  static void find_gradient(const Program& program, const NormFusions& fusions, const Readers& readers, ConvNorm& found);
  static void find_next(const Program& program, const NormFusions& fusions, const Readers& readers, ConvNorm& found);

  /// Makes of a convolution's gradient by data that of ConvNorm::data.
  void take_gradients(Step& step, const ConvNorm& joined) const;

  const Program* program_ = nullptr;
  std::map<StepId, ConvNorm> norms_;     ///< by batch norm
  std::map<StepId, ValueId> residuals_;  ///< what is added before its ReLU
  // The norm that a step has to do with:
  std::map<StepId, StepId> behind_;    ///< ConvNorm::conv
  std::map<StepId, StepId> in_front_;  ///< next, next_weight
  std::map<StepId, StepId> data_;
  std::map<StepId, StepId> inside_;  ///< the norm itself, relu_backward, norm_backward
};

}  // namespace sheaf
