#include "frontend/layer_table.h"

#include <map>
#include <regex>

namespace sheaf::frontend {

const std::vector<LayerType>& layer_types() {
  static const std::vector<LayerType> rows = [] {
    std::vector<LayerType> all;
    for (auto family : {linear_layers, convolution_layers, normalization_layers, activation_layers, pooling_layers,
                        recurrent_layers, transformer_layers, elementwise_layers, tensor_layers, value_layers,
                        line_and_volume_pooling_layers, indexing_layers, reduction_layers, resampling_layers, padding_layers}) {
      for (LayerType& row : family()) all.push_back(std::move(row));
    }
    return all;
  }();
  return rows;
}

int outputs_of(const LayerType& type, const Json& arguments) {
  return type.outputs_by_arguments ? type.outputs_by_arguments(arguments) : type.outputs;
}

std::string full_parameter_name(const std::string& path, const std::string& own_name) {
  return own_name.empty() ? path : path + "." + own_name;
}

const LayerType* find_layer_type(const std::string& name) {
  static const std::map<std::string, const LayerType*> by_name = [] {
    std::map<std::string, const LayerType*> index;
    for (const LayerType& row : layer_types()) index.emplace(row.name, &row);
    return index;
  }();
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

bool may_have_parameter(const LayerType& type, const std::string& name) {
  // std::regex recurses once per character, so a hostile name must not reach it.
  constexpr size_t longest = 64;
  return !type.parameter_names.empty() && name.size() <= longest && std::regex_match(name, std::regex(type.parameter_names));
}

const std::vector<Argument>& data_parallel_arguments() {
  using Kind = ArgumentType::Kind;
  static const std::vector<Argument> arguments = {
      nullable(typed("device_ids", Kind::device_ids, Json(nullptr))),
      nullable(typed("output_device", Kind::output_device, Json(nullptr))),
      typed("dim", Kind::integer, Json(0)),
  };
  return arguments;
}

const std::vector<std::string>& layer_fields() {
  static const std::vector<std::string> fields = {"name", "type", "inputs", "device", "share", "trainable", "checkpoint"};
  return fields;
}

std::vector<std::string> known_type_names() {
  std::vector<std::string> names = {"Sequential", "DataParallel"};
  for (const LayerType& row : layer_types()) names.push_back(row.name);
  return names;
}

}  // namespace sheaf::frontend
