// A program of two linear layers in DataParallel.
#pragma once

#include "tests/fixtures/plan_builder.h"

namespace sheaf {

/// x → 37 → 64 → 19 on each replica: values between the layers are in the devices' arenas.
inline PlanBuilder two_layers() {
  PlanBuilder b;
  const int x = b.input("x", {b.batch(), 37});
  const int w1 = b.parameter("w1", {64, 37}), b1 = b.parameter("b1", {64}), w2 = b.parameter("w2", {19, 64}),
            b2 = b.parameter("b2", {19});
  const int r = b.region("net", b.batch());
  const int part = b.scatter(x, r, 0, {b.chunk(r), 37});
  const int between = b.linear(part, b.replicate(w1, r), b.replicate(b1, r), "net.fc1", {b.chunk(r), 64}, b.in_region(r));
  const int y = b.linear(between, b.replicate(w2, r), b.replicate(b2, r), "net.fc2", {b.chunk(r), 19}, b.in_region(r));
  b.output("net", b.gather(y, r, 0, {b.batch(), 19}, b.device(0), "net"));
  return b;
}

}  // namespace sheaf
