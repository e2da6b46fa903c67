// The layers of a model file, one row each. A new layer is a new row (and its lowering in frontend/import): the check, the JSON
// Schema and the table in docs/model-format.md are made from it.
#pragma once

#include "frontend/arguments.h"

#include <functional>
#include <string>
#include <vector>

namespace sheaf::frontend {

/// A parameter of a layer under PyTorch's name, and its shape; or a buffer, or a constant's numbers.
struct LayerParameter {
  std::string name;  ///< prefixed with the layer's own name; if empty, that is the whole name
  std::vector<int64_t> shape;
  bool buffer = false;  ///< not trained
  DType dtype = DType::float32;
  double fill = 0;                    ///< a buffer's initial elements
  std::optional<std::string> data{};  ///< a constant's elements, in base64: no weights file has it
};

/// PyTorch's name of a parameter of the layer `path`: "fc.weight".
std::string full_parameter_name(const std::string& path, const std::string& own_name);

/// The input of a row's check, which runs once every argument is valid by itself.
class LayerCheck {
 public:
  LayerCheck(Json& arguments, int inputs, const std::function<void(const std::string&, std::string)>& refuse)
      : arguments(arguments), inputs(inputs), refuse_(refuse) {}

  int64_t integer(const char* name) const { return arguments[name].get<int64_t>(); }
  double number(const char* name) const { return arguments[name].get<double>(); }
  bool flag(const char* name) const { return arguments[name].get<bool>(); }
  /// Adds a problem at the argument (or at the layer, if the argument is not written).
  void refuse(const std::string& argument, std::string message) { refuse_(argument, std::move(message)); }

  Json& arguments;  ///< a check may bring an argument into a more canonical form
  int inputs;       ///< number of input values

 private:
  const std::function<void(const std::string&, std::string)>& refuse_;
};

constexpr int any_number = 1 << 30;

struct LayerType {
  std::string name;
  std::string summary;  ///< for the documentation: inputs → outputs
  std::vector<Argument> arguments{};
  int spatial_rank = 0;  ///< 2 for Conv2d
  int least_inputs = 1, most_inputs = 1, inputs_step = 1;
  int outputs = 1;
  /// Set if the arguments determine the number; `any_number` if the input's size does.
  std::function<int(const Json& arguments)> outputs_by_arguments{};
  std::function<void(LayerCheck&)> check{};  ///< relations between arguments
  std::function<std::vector<LayerParameter>(const Json& arguments)> parameters{};
  std::string parameter_names{};  ///< the names that `parameters` may give and that can be tied: a regular expression
  std::string function{};         ///< a row in ir/ElementFunctions.cpp; its numbers are the arguments in their order
  /// For a layer composed of others: the module that it is, {"inputs", "layers"}, by its arguments.
  std::function<Json(const Json& arguments)> composed{};
  bool xavier = false;  ///< matrices in it begin with torch.nn.init.xavier_uniform_, whatever layer they belong to
};

/// How many values a layer of this type has with these arguments; any_number if only its input determines it.
int outputs_of(const LayerType& type, const Json& arguments);

/// All layer types except the containers (Sequential, DataParallel, modules).
const std::vector<LayerType>& layer_types();

/// The row of a name, or null.
const LayerType* find_layer_type(const std::string& name);

/// Whether a layer of this type can, with some arguments, have a parameter of this name.
bool may_have_parameter(const LayerType& type, const std::string& name);

/// The containers' own arguments, checked by the same machinery.
const std::vector<Argument>& data_parallel_arguments();

/// Fields that any layer may have besides its arguments.
const std::vector<std::string>& layer_fields();

/// Names that "type" may have besides modules' names.
std::vector<std::string> known_type_names();

// The rows by family, in the order of the documentation.
std::vector<LayerType> linear_layers();
std::vector<LayerType> convolution_layers();
std::vector<LayerType> normalization_layers();
std::vector<LayerType> activation_layers();
std::vector<LayerType> pooling_layers();
std::vector<LayerType> recurrent_layers();
std::vector<LayerType> transformer_layers();
std::vector<LayerType> elementwise_layers();
std::vector<LayerType> tensor_layers();
std::vector<LayerType> line_and_volume_pooling_layers();
std::vector<LayerType> indexing_layers();
std::vector<LayerType> padding_layers();
std::vector<LayerType> reduction_layers();
std::vector<LayerType> resampling_layers();
std::vector<LayerType> value_layers();

}  // namespace sheaf::frontend
