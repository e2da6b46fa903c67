// Plans for the tests of the reader and the checker.
#pragma once

#include "runtime/plan/plan.h"

#include <string>
#include <utility>
#include <vector>

namespace sheaf::samples {

/// Adds parts to a program.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(Program& program) : program_(program) {}

  int value(const std::string& name, std::vector<Extent> shape, Place place = {}, Value::Role role = Value::temporary,
            DType dtype = DType::float32);
  int parameter(const std::string& name, std::vector<Extent> shape, bool buffer = false);
  /// `inputs`: role and value each.
  Step& step(Op op, std::vector<std::pair<std::string, int>> inputs, std::vector<int> outputs, Json attributes = Json::object(),
             Place place = {});
  void output(const std::string& name, int value) { program_.outputs.push_back({name, value}); }

 private:
  Program& program_;
};

using Shape = std::vector<Extent>;
using Operands = std::vector<std::pair<std::string, Shape>>;  ///< role and shape each

inline Extent batch(int64_t coefficient = 1) { return Extent::symbol("batch", coefficient); }

/// DataParallel(Linear(5, 2)) followed by a generated activation, a folded (`once`) bias, a scattered constant, a count of
/// replicas and an object: every kind of part a plan has. Passes check().
Plan sample_plan();

/// Indices of sample_plan()'s values and steps.
enum SampleValue { x, weight, bias, mean, folded, moved, part, weights, biases, y, flat, whole, copies, shown };
enum SampleStep { fold, transfer, scatter, replicate, replicate_bias, linear, view, gather, gather_copies, print };

/// A least-squares step of DataParallel(Linear(5, 2)) with a running mean: every kind of part that only training has. The
/// kernels' names and extents are fiction; their shapes are right.
Plan training_plan();

/// Indices of training_plan()'s values and steps, in the order in which they are added.
namespace trained {
enum Value {
  x,
  t,
  lr,
  step_,
  weight,
  mean,
  momentum,
  part,
  weights,
  y,
  whole,
  scalars,
  loss,
  dy,
  dpart,
  one,
  dweights,
  dweight,
  stat,
  first,
  new_m,
  new_w,
  new_mean
};
enum Step {
  scatter,
  replicate,
  linear,
  gather,
  means,
  make_loss,
  make_dy,
  scatter_back,
  scatter_scalars,
  backward,
  reduce,
  make_stat,
  make_first,
  update
};
}  // namespace trained

/// A plan of one step on the host: its inputs are the program's inputs, in this order, all float32. Tests the op's rules.
Plan one_step(Op op, Operands inputs, std::vector<Shape> outputs, Json attributes = Json::object());

/// Attributes of a two-dimensional convolution, all different.
inline const Json kConv = {
    {"stride", {2, 1}}, {"padding_begin", {1, 0}}, {"padding_end", {1, 0}}, {"dilation", {1, 2}}, {"groups", 2}};

}  // namespace sheaf::samples
