#include "ir/Nn/Mixing.h"

using namespace mlir;

namespace sheaf::nn {

std::optional<int64_t> split_result_dim(OpOperand& operand, unsigned result, int64_t dim) {
  Operation* op = operand.getOwner();
  auto splits = dyn_cast<SplitOpInterface>(op);
  if (!splits) return dim;
  const int64_t rank = cast<RankedTensorType>(operand.get().getType()).getRank();
  std::optional<int64_t> first = splits.splitDim(operand.getOperandNumber(), rank, dim);
  if (!first || result == 0) return first;
  if (isa<LstmOp, GruOp, RnnOp>(op)) return 1;  // states are [layers·dirs, N, H]; batch_first applies only to y
  if (isa<MultiheadAttentionOp>(op)) return 0;  // weights are [N, L, S]
  return first;
}

}  // namespace sheaf::nn
