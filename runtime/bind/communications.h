// Data that crosses between lanes in a run: its producer and its consumer. A trace draws these as arrows.
#pragma once

#include "runtime/lanes/communication.h"

#include <vector>

namespace sheaf {

struct BoundProgram;
struct Program;

/// In the order of their consumers, outputs last. `bound`: `program` after all rewrites.
std::vector<Communication> communications(const BoundProgram& bound, const Program& program);

}  // namespace sheaf
