// The arithmetic of LSTM and GRU cells, for one instruction set.
#pragma once

#include <cstdint>

namespace sheaf::recurrent {

/// One of a cell's two inputs: an element of the sequence, or the state before it.
struct Input {
  const float* first;   ///< row
  int64_t row;          ///< values from one row to the next
  int64_t depth;        ///< values of a row; 0: this input is zero
  const float* weight;  ///< [hidden / lanes, depth, gates, lanes]
};

/// One element of the sequence, for some rows. Nothing needs to be aligned.
struct Step {
  int64_t rows, hidden;  ///< hidden is a multiple of `lanes`
  Input x, h;
  const float* bias;  ///< [4, hidden]: of an LSTM i, f, g, o; of a GRU z, r, and n's by the sequence and by the state
  float* c;           ///< an LSTM's, [rows, hidden]: replaced
  float* y;           ///< the new state's first row, which isn't h's
  int64_t y_row;      ///< values from one row to the next
};

struct KernelTable {
  const char* instructions;  ///< "x86-64-v4"
  int lanes;                 ///< of f32 in a register
  /// A row's result depends on nothing but that row: not on how many are computed at once.
  void (*lstm)(const Step& step);  ///< gates i, f, g, o
  void (*gru)(const Step& step);   ///< gates z, r, n
};

/// The best table for this many hidden units (table_for); null: none.
const KernelTable* kernels_of(int64_t hidden);

namespace v4 {
extern const KernelTable table;
}
namespace v3 {
extern const KernelTable table;
}

}  // namespace sheaf::recurrent
