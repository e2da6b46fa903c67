// sheaf-run: `sheaf run` alone (and `sheaf-run train`, which is `sheaf train`), for machines that run plans and compile
// none. Links no LLVM or MLIR.
#include "runtime/run_main.h"
#include "runtime/training/train_main.h"

#include <string>
#include <vector>

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments.front() != "train") return sheaf::run_verb(arguments);
  arguments.erase(arguments.begin());
  return sheaf::train_verb(arguments);
}
