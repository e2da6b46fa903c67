#include "tools/train/partial_weights.h"

#include "sheaf/files.h"
#include "tools/cli/report.h"

namespace sheaf {
namespace {

constexpr size_t kShownNames = 20;

/// "2 tensors have another shape than the model's and are left out", and which.
void report_left_out(const std::string& file, const std::vector<std::string>& names, const std::string& one,
                     const std::string& many) {
  if (names.empty()) return;
  Diagnostic note{Severity::note, {file, 0, 0}, std::to_string(names.size()) + " " + (names.size() == 1 ? one : many), {}, {}};
  for (size_t i = 0; i < names.size() && i < kShownNames; ++i) note.notes.push_back(names[i]);
  if (names.size() > kShownNames) note.notes.push_back("and " + std::to_string(names.size() - kShownNames) + " more");
  report_warning(note);
}

}  // namespace

Result<void> load_partial_weights(Model& model, const std::string& file) {
  SHEAF_ASSIGN(const auto content, read_safetensors(file));
  const std::vector<TensorView> views = views_of(content.tensors);
  auto match = model.update_parameters(views, Misshapen::left_out);
  if (!match) {
    match.error().diagnostics[0].location.file = file;
    return match.error();
  }
  if (match->unexpected.size() + match->misshapen.size() >= views.size())
    return Error({file, 0, 0}, "none of its " + std::to_string(views.size()) +
                                   " tensors has the name and shape of a parameter of model '" + model.name() + "'")
        .note(match->misshapen.empty() ? "the model has '" + model.parameters()[0].name + "'" : match->misshapen[0]);
  report_left_out(file, match->missing, "parameter isn't in the file and keeps its initial values",
                  "parameters aren't in the file and keep their initial values");
  report_left_out(file, match->misshapen, "tensor has another shape than the model's, whose parameter keeps its initial values",
                  "tensors have another shape than the model's, whose parameters keep their initial values");
  report_left_out(file, match->unexpected, "tensor is none of the model's", "tensors are none of the model's");
  return {};
}

}  // namespace sheaf
