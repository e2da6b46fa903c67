// RUN: sheaf-opt %s --sheaf-expand-math | FileCheck %s

// exp has no instruction: it becomes a polynomial of fused multiply-adds.
// CHECK-LABEL: func.func @exponential
// CHECK-NOT: math.exp
// CHECK: math.fma
func.func @exponential(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// The polynomial for tanh clamps its argument, so NaN is restored.
// CHECK-LABEL: func.func @hyperbolic_tangent
// CHECK-SAME: %[[X:.*]]: f32
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: %[[Y:.*]] = arith.select %[[NAN]], %[[X]]
// CHECK: return %[[Y]]
func.func @hyperbolic_tangent(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}

// An op with an instruction of its own stays.
// CHECK-LABEL: func.func @square_root
// CHECK: math.sqrt
func.func @square_root(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  return %0 : f32
}
