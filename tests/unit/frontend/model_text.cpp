#include "model_text.h"
#include "tests/paths/source_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace sheaf::frontend::test {

std::string model_with(const std::vector<std::string>& layers, const std::string& rest) {
  std::string text = "{\n  \"sheaf\": \"1.0\",\n  \"inputs\": {\"x\": {\"shape\": [\"batch\", 8]}},\n  \"layers\": [\n";
  for (size_t i = 0; i < layers.size(); ++i) text += layers[i] + (i + 1 < layers.size() ? ",\n" : "\n");
  return text + "  ]" + (rest.empty() ? "" : ",\n" + rest) + "\n}\n";
}

std::vector<std::string> problems_in(const std::string& text) {
  auto model = parse_model("m.json", text);
  std::vector<std::string> found;
  if (model) return found;
  for (const Diagnostic& diagnostic : model.error().diagnostics) {
    const Location& at = diagnostic.location;
    found.push_back(std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + diagnostic.message);
  }
  return found;
}

Model accepted(const std::string& text) {
  auto model = parse_model("m.json", text);
  EXPECT_TRUE(model) << (model ? "" : to_string(model.error()));
  return model ? std::move(*model) : Model{};
}

const Layer* find_layer(const Graph& graph, const std::string& path) {
  for (const Layer& layer : graph.layers) {
    if (layer.path == path) return &layer;
    const Layer* inner = layer.body ? find_layer(*layer.body, path) : nullptr;
    if (inner) return inner;
  }
  return nullptr;
}

std::string read_project_file(const std::string& path) {
  std::ifstream stream(source_file(path), std::ios::binary);
  EXPECT_TRUE(stream) << path;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace sheaf::frontend::test
