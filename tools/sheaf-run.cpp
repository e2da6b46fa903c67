// sheaf-run: `sheaf run` alone (and `sheaf-run train` and `sheaf-run bench`, which are `sheaf train` and `sheaf bench`),
// for machines that run plans and compile none. Links no LLVM or MLIR.
#include "runtime/bench/bench_main.h"
#include "runtime/run_main.h"
#include "runtime/training/train_main.h"

#include <string>
#include <vector>

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string verb = arguments.empty() ? "" : arguments.front();
  if (verb != "train" && verb != "bench") return sheaf::run_verb(arguments);
  arguments.erase(arguments.begin());
  return verb == "train" ? sheaf::train_verb(arguments) : sheaf::bench_verb(arguments);
}
