// Arguments as the tables of layers, losses, optimizers, … describe them: type, range and default. One description serves the
// check, the JSON Schema and the documentation.
#pragma once

#include "frontend/model.h"
#include "frontend/value.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::frontend {

/// The largest integer allowed in an argument or dimension: products of two stay inside int64.
constexpr int64_t largest_integer = std::numeric_limits<int32_t>::max();

struct ArgumentType {
  enum class Kind {
    boolean,
    integer,
    number,
    text,
    choice,
    fixed,         ///< PyTorch has more values, sheaf only the default
    ignored,       ///< boolean or null without effect here: checked and dropped
    spatial,       ///< integer, or one per spatial dimension → a list
    padding,       ///< spatial, or "same" / "valid"
    output_size,   ///< spatial, null (= the input's) allowed for each
    sizes,         ///< integer or list of integers → a list
    integers,      ///< list of integers
    factors,       ///< number or list of numbers → a list
    shape,         ///< list of sizes, which may be empty; an item may be "batch" (then -2) if `choices` has it
    scalar,        ///< number, true or false
    tensor,        ///< scalar, or nested lists of scalars
    numbers,       ///< list of `count` numbers, or of any number of them except 0 if `count` is 0
    device_ids,    ///< list of device indices → integers; null = every device of the run
    output_device  ///< device index, "cuda:k", "cpu" or -1 → an integer, -1 for the host
  };
  Kind kind = Kind::boolean;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_excluded = false;
  bool maximum_excluded = false;
  bool nullable = false;
  bool length = false;                 ///< for `integer` and `integers`: a length's name is allowed instead of a number
  size_t count = 0;                    ///< for `numbers`; 0: any number except none
  std::vector<std::string> choices{};  ///< for `choice`
};

struct Argument {
  std::string name;
  ArgumentType type;
  std::optional<Json> fallback{};  ///< empty: required
  std::string mend{};              ///< what to do if it is missing or refused, if that isn't obvious
};

/// "a positive integer", "a number from 0 to 1", …: completes "must be". `rank`: number of spatial dimensions.
std::string phrase_of(const Argument& argument, int rank);

/// The argument's canonical form (see Layer in frontend/model.h); empty, with a problem added, if `value` does not fit. `what`
/// begins the message: "'stride' of Conv2d 'conv1'". The value must be known.
std::optional<Json> check_argument(const Argument& argument, int rank, const JsonValue& value, const std::string& what,
                                   Problems& problems);

/// Every argument in canonical form.
struct CheckedArguments {
  Json values = Json::object();
  std::map<std::string, TextPlace> places;
  bool complete = true;  ///< false if one was refused or unknown: relations between arguments cannot be checked
};

/// Checks the members of `object`, except the `reserved` ones, against `arguments`. Unknown names, missing required arguments
/// and unfit values become problems. `owner` is "Conv2d 'conv1'", `rank` its spatial dimensions.
CheckedArguments check_arguments(const std::vector<Argument>& arguments, int rank, const JsonValue& object,
                                 const std::vector<std::string>& reserved, const std::string& owner, Problems& problems);

// Rows of the tables.
Argument boolean(std::string name, bool fallback);
Argument integer(std::string name, double minimum, std::optional<Json> fallback = {});
Argument positive(std::string name, std::optional<Json> fallback = {});
Argument number(std::string name, std::optional<Json> fallback = {});
Argument not_negative(std::string name, std::optional<Json> fallback = {});
Argument above_zero(std::string name, std::optional<Json> fallback = {});
Argument probability(std::string name, Json fallback);
Argument choice(std::string name, std::vector<std::string> choices, Json fallback);
Argument fixed(std::string name, Json only);
Argument ignored(std::string name, Json fallback = false);
Argument spatial(std::string name, double minimum, std::optional<Json> fallback = {});
Argument typed(std::string name, ArgumentType::Kind kind, std::optional<Json> fallback = {});
Argument nullable(Argument argument);
/// Also allows a length's name.
Argument or_length(Argument argument);
Argument mended(Argument argument, std::string mend);

}  // namespace sheaf::frontend
