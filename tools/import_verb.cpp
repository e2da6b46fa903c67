// sheaf import FILE -o NET.json: runs the Python package, since only PyTorch reads the files it writes.
#include "tools/cli/report.h"
#include "tools/inspect/child_process.h"
#include "tools/verbs.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <vector>

namespace sheaf {
namespace {

constexpr const char* kPython = "python3";
constexpr int kNotInstalled = 3;

/// Whether the Python on the path has the package. A folder called sheaf doesn't count.
Result<void> find_package() {
  const std::string look =
      "import importlib.util, sys\nspec = importlib.util.find_spec('sheaf')\nsys.exit(0 if spec and spec.origin else " +
      std::to_string(kNotInstalled) + ")";
  const char* const how =
      "`pip install .` in sheaf's checkout installs it, for the python3 that is first on the path (docs/python.md)";
  auto found = run_child({kPython, "-c", look}, "");
  if (!found) return found.error().note(how);
  if (found->status == 0) return {};
  return Error(found->status == kNotInstalled ? "the Python package isn't installed, which imports other programs' models"
                                              : std::string(kPython) + " failed: " + found->errors)
      .note(how);
}

}  // namespace

OptionParser import_options() {
  OptionParser parser("import",
                      "Converts an exported PyTorch program or an ONNX graph to a model file (by the Python package).");
  parser.positional("FILE", "NET.pt2, which torch.export.save wrote, exported with a free batch size; or NET.onnx")
      .file(FileUse::input)
      .option("-o", "NET.json", "the model file to write")
      .file(FileUse::output)
      .required()
      .option("--weights", "NET.safetensors", "the weights file to write")
      .writes({".safetensors"})
      .option("--size", "NAME=N", "a free size of an ONNX graph, other than the batch")
      .repeatable()
      .option("--length", "INPUT:DIM=NAME[:MOST]",
              "what the model file calls an input's free size besides the batch, such as a sequence's, and its largest "
              "number, which tables of positions and masks need: tokens:1=seq:512 (docs/lengths.md)")
      .repeatable()
      .example("a model file and weights under PyTorch's names", {"sheaf import net.pt2 -o net.json --weights net.safetensors"})
      .example("a language model for sequences of up to 512 tokens",
               {"sheaf import gpt.onnx -o gpt.json --weights gpt.safetensors --length tokens:1=seq:512"});
  return parser;
}

int import_verb(std::span<const std::string> arguments) {
  const OptionParser parser = import_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(options.error(), "import");
  if (options->help()) return print_help(parser);
  if (auto found = find_package(); !found) return report(found.error(), kFailed);
  std::vector<std::string> words = {kPython, "-m", "sheaf", "import", "-o", options->value("-o")};
  if (options->has("--weights")) words.insert(words.end(), {"--weights", options->value("--weights")});
  for (const char* passed : {"--size", "--length"})
    for (const std::string& value : options->values(passed)) words.insert(words.end(), {passed, value});
  words.insert(words.end(), {"--", options->value("FILE")});
  std::vector<char*> command;
  for (std::string& word : words) command.push_back(word.data());
  command.push_back(nullptr);
  execvp(kPython, command.data());
  return report(Error(std::string(kPython) + " can't be started: " + std::strerror(errno)), kFailed);
}

}  // namespace sheaf
