// sheaf-run: `sheaf run` on its own (and `sheaf-run train`, `eval`, `bench`, `estimate` and `devices`, which are the same
// verbs), for machines that run plans and compile none. Links no LLVM or MLIR.
#include "tools/cli/program.h"
#include "tools/runtime_verbs.h"

int main(int argc, char** argv) { return sheaf::run_program(argc, argv, sheaf::runtime_verb); }
