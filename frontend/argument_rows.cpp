// Builders of the tables' rows.
#include "frontend/arguments.h"

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

Argument make(std::string name, Kind kind, double minimum, std::optional<Json> fallback) {
  Argument argument{std::move(name), {}, std::move(fallback)};
  argument.type.kind = kind;
  argument.type.minimum = minimum;
  return argument;
}

constexpr double unbounded = -std::numeric_limits<double>::infinity();

}  // namespace

Argument boolean(std::string name, bool fallback) { return make(std::move(name), Kind::boolean, unbounded, Json(fallback)); }
Argument integer(std::string name, double minimum, std::optional<Json> fallback) {
  return make(std::move(name), Kind::integer, minimum, std::move(fallback));
}
Argument positive(std::string name, std::optional<Json> fallback) { return integer(std::move(name), 1, std::move(fallback)); }
Argument number(std::string name, std::optional<Json> fallback) {
  return make(std::move(name), Kind::number, unbounded, std::move(fallback));
}
Argument not_negative(std::string name, std::optional<Json> fallback) {
  return make(std::move(name), Kind::number, 0, std::move(fallback));
}
Argument above_zero(std::string name, std::optional<Json> fallback) {
  Argument argument = not_negative(std::move(name), std::move(fallback));
  argument.type.minimum_excluded = true;
  return argument;
}
Argument probability(std::string name, Json fallback) {
  Argument argument = make(std::move(name), Kind::number, 0, std::move(fallback));
  argument.type.maximum = 1;
  return argument;
}
Argument choice(std::string name, std::vector<std::string> choices, Json fallback) {
  Argument argument = make(std::move(name), Kind::choice, unbounded, std::move(fallback));
  argument.type.choices = std::move(choices);
  return argument;
}
Argument fixed(std::string name, Json only) { return make(std::move(name), Kind::fixed, unbounded, std::move(only)); }
Argument ignored(std::string name, Json fallback) {
  return make(std::move(name), Kind::ignored, unbounded, std::move(fallback));
}
Argument spatial(std::string name, double minimum, std::optional<Json> fallback) {
  return make(std::move(name), Kind::spatial, minimum, std::move(fallback));
}
Argument typed(std::string name, Kind kind, std::optional<Json> fallback) {
  return make(std::move(name), kind, unbounded, std::move(fallback));
}
Argument mended(Argument argument, std::string mend) {
  argument.mend = std::move(mend);
  return argument;
}
Argument nullable(Argument argument) {
  argument.type.nullable = true;
  return argument;
}
Argument or_length(Argument argument) {
  argument.type.length = true;
  return argument;
}

}  // namespace sheaf::frontend
