// Classes of torch.nn that a model file can't have, and what to write instead.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sheaf::frontend {

/// A class of torch.nn and why model files don't have it: what follows its name in a sentence.
struct RefusedType {
  std::string name, why;
};

const std::vector<RefusedType>& refused_types();

/// Why a layer or loss of this name is refused, if that is known.
std::optional<std::string> why_refused(const std::string& name);

}  // namespace sheaf::frontend
