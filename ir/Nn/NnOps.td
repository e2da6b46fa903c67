// All ops of the nn dialect, for mlir-tblgen.
include "ir/Nn/NnElementwise.td"
include "ir/Nn/NnStructure.td"
