// A model's weights in files.
#include "runtime/base/exception.h"
#include "runtime/data/convert.h"
#include "runtime/data/safetensors.h"
#include "runtime/session/model_state.h"

namespace sheaf {

Result<std::vector<Diagnostic>> Model::load_parameters(const std::string& file) try {
  SHEAF_ASSIGN(auto opened, SafetensorsFile::open(file));
  std::vector<FileTensor> tensors;
  std::map<std::string, size_t> converted;  // how many, by the dtype in the file
  std::vector<TensorView> views;
  tensors.reserve(opened.entries().size());  // views point into it
  for (const auto& [name, entry] : opened.entries()) {
    SHEAF_ASSIGN(auto tensor, opened.read(name));
    if (tensor.stored != name_of(DType::float32) && is_floating(tensor.dtype)) ++converted[tensor.stored];
    tensors.push_back(std::move(tensor));
    views.push_back({name, tensors.back().dtype, tensors.back().shape, tensors.back().bytes.data()});
  }
  if (auto set = set_parameters(views); !set) {
    if (set.error().diagnostics[0].location.file.empty()) set.error().diagnostics[0].location.file = file;
    return set.error();
  }
  std::vector<Diagnostic> notes;
  for (const auto& [dtype, count] : converted) {
    notes.push_back({Severity::note,
                     {file, 0, 0},
                     std::to_string(count) + (count == 1 ? " tensor is " : " tensors are ") + dtype +
                         "; converted to the parameters' float32",
                     {},
                     {}});
  }
  return notes;
} catch (...) {
  return error_of_exception();
}

Result<void> Model::save_parameters(const std::string& file) const try {
  SHEAF_ASSIGN(auto tensors, read_parameters());
  std::vector<TensorView> views = views_of(tensors);
  // PyTorch saves a tied parameter under each of its names.
  const auto parameters = state_->plan->weights();
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (const std::string& alias : parameters[i].aliases) {
      views.push_back(views[i]);
      views.back().name = alias;
    }
  }
  return write_safetensors(file, views, {{"format", "pt"}});
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
