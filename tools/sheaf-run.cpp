// sheaf-run: `sheaf run` alone, for machines that run plans and compile none. Links no LLVM or MLIR.
#include "runtime/run_main.h"

#include <string>
#include <vector>

int main(int argc, char** argv) { return sheaf::run_verb(std::vector<std::string>(argv + 1, argv + argc)); }
