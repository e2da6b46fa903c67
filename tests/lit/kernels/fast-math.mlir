// RUN: sheaf-opt %s --sheaf-fast-math | FileCheck %s

// Arithmetic without flags gets reassoc, nsz and contract. An op's own flags are left alone: the difference here must
// not be reassociated.
// CHECK-LABEL: func.func @flags
// CHECK: arith.addf {{.*}} fastmath<reassoc,nsz,contract>
// CHECK: arith.subf {{.*}} fastmath<contract>
// CHECK: math.exp {{.*}} fastmath<reassoc,nsz,contract>
func.func @flags(%a: f32, %b: f32) -> f32 {
  %0 = arith.addf %a, %b : f32
  %1 = arith.subf %0, %b fastmath<contract> : f32
  %2 = math.exp %1 : f32
  return %2 : f32
}

// A change of width has no rounding to rearrange.
// CHECK-LABEL: func.func @narrow
// CHECK: arith.truncf %{{.*}} : f64 to f32
func.func @narrow(%a: f64) -> f32 {
  %0 = arith.truncf %a : f64 to f32
  return %0 : f32
}

// A GPU's text has the elements of these several times, and each copy must round alike: no reassoc.
// CHECK-LABEL: func.func @vectors
// CHECK: arith.addf {{.*}} fastmath<nsz,contract>
func.func @vectors(%a: f32, %b: f32) -> f32 attributes {gpu_repeated, kernel} {
  %0 = arith.addf %a, %b : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @once
// CHECK: arith.addf {{.*}} fastmath<reassoc,nsz,contract>
func.func @once(%a: f32, %b: f32) -> f32 attributes {kernel} {
  %0 = arith.addf %a, %b : f32
  return %0 : f32
}
