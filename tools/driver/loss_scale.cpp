#include "tools/driver/loss_scale.h"

#include "frontend/signatures.h"

namespace sheaf {

using namespace mlir;

Json loss_scale_of(const frontend::Training& training, const std::string& precision) {
  if (!training.loss_scale.is_null() || precision != "f16") return training.loss_scale;
  Json scale = Json::object();
  for (const frontend::Argument& argument : frontend::loss_scale_arguments()) scale[argument.name] = *argument.fallback;
  return scale;
}

DictionaryAttr loss_scale_attribute(Builder builder, const Json& scale) {
  if (scale.is_number())
    return builder.getDictionaryAttr(builder.getNamedAttr("scale", builder.getF64FloatAttr(scale.get<double>())));
  SmallVector<NamedAttribute> entries;
  for (const auto& [name, value] : scale.items()) {
    const bool counts = name == "growth_interval";
    entries.push_back(builder.getNamedAttr(name, counts ? mlir::Attribute(builder.getI64IntegerAttr(value.get<int64_t>()))
                                                        : builder.getF64FloatAttr(value.get<double>())));
  }
  return builder.getDictionaryAttr(entries);
}

}  // namespace sheaf
