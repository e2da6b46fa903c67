// RUN: sheaf-opt %s --sheaf-kernel-lowering --verify-diagnostics

// An op that does not lower is an error that names it: here math that should have been expanded before.
func.func @unexpanded(%x: f32) -> f32 {
  // expected-error@+1 {{failed to legalize operation 'math.erf'}}
  %0 = math.erf %x : f32
  return %0 : f32
}
