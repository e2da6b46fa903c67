// Values without inputs: Parameter, Buffer, Constant.
#include "frontend/constant_value.h"
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

Argument shape_argument() {
  Argument shape = typed("shape", ArgumentType::Kind::shape);
  shape.type.minimum = 1;
  return shape;
}

std::vector<int64_t> shape_of(const Json& arguments) { return arguments["shape"].get<std::vector<int64_t>>(); }
DType dtype_of(const Json& arguments) { return *dtype_from_name(arguments["dtype"].get<std::string>()); }

}  // namespace

std::vector<LayerType> value_layers() {
  Argument dtype = choice("dtype", {"float32", "int64", "int32", "bool"}, "float32");
  Argument packed_shape = nullable(shape_argument());
  packed_shape.fallback = Json(nullptr);
  return {
      {.name = "Parameter",
       .summary = "a trained tensor, under the layer's own name; zeros at first",
       .arguments = {shape_argument(), choice("dtype", {"float32"}, "float32")},
       .least_inputs = 0,
       .most_inputs = 0,
       .parameters = [](const Json& a) { return std::vector<LayerParameter>{{"", shape_of(a)}}; }},
      {.name = "Buffer",
       .summary = "a tensor of the weights that isn't trained, under the layer's own name; zeros at first",
       .arguments = {shape_argument(), dtype},
       .least_inputs = 0,
       .most_inputs = 0,
       .parameters =
           [](const Json& a) {
             return std::vector<LayerParameter>{{.name = "", .shape = shape_of(a), .buffer = true, .dtype = dtype_of(a)}};
           }},
      {.name = "Constant",
       .summary = "`value`, a number or nested lists of numbers; or `data`: the elements of `shape`, little-endian, "
                  "compressed by zlib, in base64",
       .arguments = {nullable(typed("value", ArgumentType::Kind::tensor, Json(nullptr))), dtype, packed_shape,
                     nullable(typed("data", ArgumentType::Kind::text, Json(nullptr)))},
       .least_inputs = 0,
       .most_inputs = 0,
       .check = check_constant,
       .parameters =
           [](const Json& a) {
             return std::vector<LayerParameter>{{.name = "",
                                                 .shape = shape_of(a),
                                                 .buffer = true,
                                                 .dtype = dtype_of(a),
                                                 .data = a["data"].get<std::string>()}};
           }},
  };
}

}  // namespace sheaf::frontend
