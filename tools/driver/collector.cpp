#include "tools/driver/collector.h"

#include "ir/Nn/Nn.h"

using namespace mlir;

namespace sheaf {

LogicalResult Collector::take(mlir::Diagnostic& diagnostic) {
  bool warning = diagnostic.getSeverity() == DiagnosticSeverity::Warning;
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error && !(warning && warnings_)) return success();
  StringRef layer = nn::layer_of(diagnostic.getLocation());
  sheaf::Diagnostic made;
  made.severity = warning ? Severity::warning : Severity::error;
  if (FileLineColLoc position = nn::position_of(diagnostic.getLocation()))
    made.location = {position.getFilename().str(), static_cast<int>(position.getLine()),
                     static_cast<int>(position.getColumn())};
  made.message = (layer.empty() ? "" : "layer '" + layer.str() + "' ") + diagnostic.str();
  made.source_line = made.location.file == model_.file ? line(made.location.line) : "";
  for (const mlir::Diagnostic& note : diagnostic.getNotes()) made.notes.push_back(note.str());
  (warning ? *warnings_ : error_.diagnostics).push_back(std::move(made));
  return success();
}

std::string Collector::line(int number) const {
  StringRef rest = model_.text;
  for (int i = 1; i < number; ++i) rest = rest.split('\n').second;
  return number > 0 ? rest.split('\n').first.str() : "";
}

}  // namespace sheaf
