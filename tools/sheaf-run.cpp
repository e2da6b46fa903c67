// sheaf-run: `sheaf run` alone (and `sheaf-run train`, `bench` and `estimate`, which are those verbs of `sheaf`), for
// machines that run plans and compile none. Links no LLVM or MLIR.
#include "runtime/bench/bench_main.h"
#include "runtime/estimate/estimate_main.h"
#include "runtime/run_main.h"
#include "runtime/training/train_main.h"

#include <string>
#include <vector>

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string verb = arguments.empty() ? "" : arguments.front();
  if (verb != "train" && verb != "bench" && verb != "estimate") return sheaf::run_verb(arguments);
  arguments.erase(arguments.begin());
  if (verb == "estimate") return sheaf::estimate_verb(arguments);
  return verb == "train" ? sheaf::train_verb(arguments) : sheaf::bench_verb(arguments);
}
