// Trainers: one training step after another.
#include "sheaf/trainer.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"
#include "python/extension/errors.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <memory>
#include <mutex>

namespace nb = nanobind;
using namespace nb::literals;

namespace sheaf::python {
namespace {

/// A step that was started, and the arrays that it reads.
struct StartedStep {
  std::vector<GivenArray> arrays;
  std::optional<Result<float>> loss;  ///< it is done
};

struct BoundTrainer {
  SharedModel model;
  std::string devices;
  std::deque<std::shared_ptr<StartedStep>> started;  ///< and not finished, in order; they outlive the trainer, which reads them
  Trainer trainer;
  RunOptions options = run_options();
};

/// Runs `work()` with the model to itself, without the GIL.
template <typename Work>
auto alone(BoundTrainer& self, Work work) {
  return without_gil([&] {
    const std::unique_lock lock(*self.model.access);
    return work();
  });
}

/// Steps that are done. Their arrays are Python's, so they go once the GIL is held again.
using Done = std::vector<std::shared_ptr<StartedStep>>;

/// Waits for the oldest step under way, for whoever started it. The trainer forgets those behind one that failed.
void finish_oldest(BoundTrainer& self, Done& done) {
  StartedStep& step = *done.emplace_back(std::move(self.started.front()));
  self.started.pop_front();
  step.loss = self.trainer.finish();
  if (self.trainer.started() == self.started.size()) return;
  for (auto& later : self.started)
    done.emplace_back(std::move(later))->loss = Error("the step isn't done: one that was started before it failed");
  self.started.clear();
}

/// alone(), once all steps under way are done.
template <typename Work>
auto after_started(BoundTrainer& self, Work work) {
  Done done;
  return alone(self, [&] {
    while (!self.started.empty()) finish_oldest(self, done);
    return work();
  });
}

float step(BoundTrainer& self, nb::args positional, nb::kwargs named) {
  const auto arrays = given_arrays("input", positional, named);
  const auto views = views_of(arrays);
  return after_started(self, [&] { return self.trainer.step(views, self.options); });
}

std::shared_ptr<StartedStep> start(BoundTrainer& self, nb::dict named) {
  auto step = std::make_shared<StartedStep>();
  step->arrays = given_arrays("input", std::move(named));
  Done done;
  alone(self, [&]() -> Result<void> {
    while (self.started.size() >= Trainer::kMostStarted) finish_oldest(self, done);
    SHEAF_TRY(self.trainer.start(views_of(step->arrays), self.options));
    self.started.push_back(step);
    return {};
  });
  return step;
}

float finish(BoundTrainer& self, StartedStep& step) {
  Done done;
  const float loss = alone(self, [&]() -> Result<float> {
    while (!step.loss) {
      if (self.started.empty()) return Error("internal error: a step of another trainer");
      finish_oldest(self, done);
    }
    return *step.loss;
  });
  step.arrays.clear();
  return loss;
}

std::string first_not_finite(BoundTrainer& self, nb::args positional, nb::kwargs named) {
  const auto arrays = given_arrays("input", positional, named);
  const auto views = views_of(arrays);
  return after_started(self, [&] { return self.trainer.first_not_finite(views); });
}

nb::dict read_state(BoundTrainer& self, bool torch) {
  return arrays_of(torch ? Library::torch : Library::numpy, alone(self, [&] { return self.trainer.read_state(); }));
}

/// Steps, and what a step is.
void add_steps(nb::class_<BoundTrainer>& trainer) {
  trainer
      .def("step", &step, "values"_a, "named"_a, nb::sig("def step(self, *values, **named) -> float"),
           "Forward, loss, backward and update on one batch: inputs, then targets, in the order of `inputs`, or by name as "
           "keywords or\n"
           "in one dict. Arrays are what Session.run takes. All have the same number of rows, from 1 to `batch`; a smaller "
           "batch counts\n"
           "as any other.\n\n"
           "Gives the loss before the update. Where that isn't finite nothing is updated, and the step doesn't count.\n\n"
           "Raises sheaf.Error: a value is missing, superfluous, or of another type or shape; a device fails. "
           "KeyboardInterrupt comes\n"
           "after the step that it fell into, which is done and counts.")
      .def("first_not_finite", &first_not_finite, "values"_a, "named"_a,
           nb::sig("def first_not_finite(self, *values, **named) -> str"),
           "After a step whose loss wasn't finite, with the same values: the first layer with an output that isn't; empty "
           "where none is.")
      .def(
          "prepare",
          [](BoundTrainer& self, int64_t rows, const LengthNumbers& lengths) {
            alone(self, [&] { return self.trainer.prepare(rows, lengths); });
          },
          "rows"_a, "lengths"_a = LengthNumbers(),
          "Binds the step to `rows` rows, too, from 1 to `batch`, so that no step has to. `lengths`: {name: number}; the "
          "others "
          "are as in\n"
          "Model.trainer.")
      .def_prop_ro(
          "inputs", [](const BoundTrainer& self) { return self.trainer.inputs(); },
          "Inputs, then targets, in the order of step().")
      .def_prop_ro(
          "batch", [](const BoundTrainer& self) { return self.trainer.batch(); }, "Rows of a whole batch.")
      .def_prop_ro(
          "devices", [](const BoundTrainer& self) { return self.devices; }, "The device list, as it was given.")
      .def_prop_ro(
          "report", [](const BoundTrainer& self) { return self.trainer.report(); },
          "Of a whole batch: memory, and the implementations chosen.");
}

nb::object dict_of(const std::optional<LossScale>& found) {
  if (!found) return nb::none();
  nb::dict scale;
  scale["scale"] = found->scale;
  scale["growth_count"] = found->growth_count;
  scale["updates"] = found->updates;
  scale["skipped"] = found->skipped;
  return scale;
}

/// How far training has come.
void add_progress(nb::class_<BoundTrainer>& trainer) {
  trainer
      .def_prop_rw(
          "learning_rate", [](const BoundTrainer& self) { return self.trainer.learning_rate(); },
          [](BoundTrainer& self, double rate) { self.trainer.progress().lr = rate; },
          "Of the next step, under the model's schedule. Setting it sets the base learning rate, before the schedule.")
      .def_prop_ro(
          "steps", [](const BoundTrainer& self) { return self.trainer.progress().steps; }, "Optimiser steps done.")
      .def_prop_rw(
          "epochs", [](const BoundTrainer& self) { return self.trainer.progress().epochs; },
          [](BoundTrainer& self, int64_t epochs) { self.trainer.progress().epochs = epochs; },
          "Epochs done: schedules count these.")
      .def_prop_ro(
          "loss_scale", [](BoundTrainer& self) { return dict_of(alone(self, [&] { return self.trainer.loss_scale(); })); },
          nb::sig("def loss_scale(self) -> dict | None"),
          "Of a plan that scales its loss: {\"scale\", of the next step; \"growth_count\", steps since it changed; \"updates\" "
          "and "
          "\"skipped\",\n"
          "steps whose gradients were finite and steps that changed nothing, because a gradient wasn't}. None: it doesn't.")
      .def("_watch_loss_scale",
           [](BoundTrainer& self) { return dict_of(alone(self, [&] { return self.trainer.watch_loss_scale(); })); })
      .def_prop_ro(
          "monitor", [](const BoundTrainer& self) { return self.trainer.monitor(); },
          "The value that a ReduceLROnPlateau schedule follows (\"train_loss\", \"eval_loss\", …); empty with any other.")
      .def(
          "step_schedule", [](BoundTrainer& self, double value) { self.trainer.step_schedule(value); }, "value"_a,
          "Tells a schedule ReduceLROnPlateau what an epoch came to; fit() does it itself.")
      .def_prop_rw(
          "seed", [](const BoundTrainer& self) { return self.trainer.progress().seed; },
          [](BoundTrainer& self, uint64_t seed) { self.trainer.progress().seed = seed; }, "Of dropout.")
      .def("_read_state", &read_state, "torch"_a)
      .def(
          "_save",
          [](BoundTrainer& self, const std::string& file) { after_started(self, [&] { return self.trainer.save(file); }); },
          "file"_a)
      .def(
          "_restore",
          [](BoundTrainer& self, const std::string& file) { after_started(self, [&] { return self.trainer.restore(file); }); },
          "file"_a);
}

/// What fit() is made of: steps that are started before the one before them is finished (docs/feeding-a-gpu.md).
void add_started(nb::module_& module, nb::class_<BoundTrainer>& trainer) {
  nb::class_<StartedStep>(module, "_StartedStep");
  trainer.def("_start", &start, "values"_a)
      .def("_finish", &finish, "step"_a)
      .def("_finish_all", [](BoundTrainer& self) { after_started(self, [] { return Result<void>(); }); })
      .def_prop_ro("_under_way",
                   [](BoundTrainer& self) { return alone(self, [&] { return Result<size_t>(self.started.size()); }); })
      .def_prop_ro("_overlaps", [](const BoundTrainer& self) { return self.trainer.overlaps(); });
}

}  // namespace

void add_trainer(nb::module_& module) {
  nb::class_<BoundTrainer> trainer(module, "Trainer", nb::dynamic_attr(), "Training steps of a model on devices.");
  trainer.def(
      "__init__",
      [](BoundTrainer* self, const SharedModel& model, const std::string& devices, int64_t batch, const std::string& numerics,
         bool deterministic, int threads, int64_t micro_batches, std::optional<int> shards, const std::string& tune,
         const LengthNumbers& lengths) {
        BindOptions options = bind_options(numerics, deterministic, threads, micro_batches, shards, tune);
        options.lengths = lengths;
        auto bound = without_gil([&] {
          const std::shared_lock together(*model.access);
          return Trainer::bind(model.model, devices, batch, options);
        });
        new (self) BoundTrainer{model, devices, {}, std::move(bound)};
      },
      "model"_a, "devices"_a, "batch"_a, nb::kw_only(), "numerics"_a = "strict", "deterministic"_a = true, "threads"_a = 0,
      "micro_batches"_a = 1, "shards"_a = nb::none(), "tune"_a = "off", "lengths"_a = LengthNumbers());
  add_steps(trainer);
  add_started(module, trainer);
  add_progress(trainer);
}

}  // namespace sheaf::python
