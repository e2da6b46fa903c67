// What crosses between lanes in a run: who makes it and who uses it. What a trace draws as arrows.
#pragma once

#include "runtime/lanes/communication.h"

#include <vector>

namespace sheaf {

struct Graph;
struct Program;

/// In the order of their consumers, outputs last. `graph`: scheduled.
std::vector<Communication> communications(const Graph& graph, const Program& program);

}  // namespace sheaf
