// What each file of the extension adds to the module, and the values they share.
#pragma once

#include "sheaf/model.h"

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

namespace sheaf::python {

/// A Model, and the lock on its weights: calls that read them share `access`, calls that change them hold it alone. Python's
/// threads may call anything at any time; they wait for one another without the GIL.
struct SharedModel {
  Model model;
  std::shared_ptr<std::shared_mutex> access = std::make_shared<std::shared_mutex>();
};

/// How a model is bound, from Python's arguments. Raises sheaf.Error: a value that an option can't take.
BindOptions bind_options(const std::string& numerics, bool deterministic = true, int threads = 0, int64_t micro_batches = 1,
                         std::optional<int> shards = {}, const std::string& tune = "off");
/// Each length's largest number; none: it has no bound.
std::map<std::string, std::optional<int64_t>> largest_numbers(const std::vector<Length>& lengths);
/// Lines of Print layers go to sys.stdout.
RunOptions run_options();

void add_plan(nanobind::module_& module);
void add_model(nanobind::module_& module);
void add_session(nanobind::module_& module);
void add_trainer(nanobind::module_& module);
void add_gradients(nanobind::module_& module);
void add_metrics(nanobind::module_& module);
void add_reports(nanobind::module_& module);
void add_inspection(nanobind::module_& module);

}  // namespace sheaf::python
