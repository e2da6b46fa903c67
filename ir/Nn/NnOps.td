// All ops of the nn dialect, for mlir-tblgen.
include "ir/Nn/NnElementwise.td"
include "ir/Nn/NnStructure.td"
include "ir/Nn/NnLoss.td"
include "ir/Nn/NnTraining.td"
include "ir/Nn/NnPooling.td"
include "ir/Nn/NnUpdate.td"
