#include "frontend/set_training.h"

#include "frontend/training_section.h"

namespace sheaf::frontend {

Result<void> set_training(Model& model, const std::string& file, const std::string& text) {
  Problems problems(file, text);
  const auto root = parse_located_json(text, problems);
  if (root) {
    Training training = read_training(*root, model, /*outputs_known=*/true, problems);
    if (problems.empty()) model.training = std::move(training);
  }
  return problems.empty() ? Result<void>() : problems.take();
}

}  // namespace sheaf::frontend
