// Randomly drawn recurrent steps.
#pragma once

#include "tests/unit/runtime/cpu/draw.h"

namespace sheaf::test {

/// An LSTM, a GRU or an RNN for `rows` rows with `hidden` units: one to three layers, either direction or both, either order of x, with
/// initial states and biases or without; one in ten of a sequence of length 0. Its outputs are left out.
StepCase draw_recurrent(Draw& draw, Op op, int64_t rows, int64_t hidden);

}  // namespace sheaf::test
