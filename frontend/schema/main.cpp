// sheaf-model-schema: prints the JSON Schema of model files or, with --tables, the tables of docs/model-format.md.
//   sheaf-model-schema > frontend/model.schema.json
#include "frontend/model_schema.h"

#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
  if (argc == 1) {
    std::cout << sheaf::frontend::model_schema_text();
  } else if (argc == 2 && std::string_view(argv[1]) == "--tables") {
    std::cout << sheaf::frontend::format_tables();
  } else {
    std::cerr << "usage: sheaf-model-schema [--tables]\n";
    return 2;
  }
  return std::cout.good() ? 0 : 1;
}
