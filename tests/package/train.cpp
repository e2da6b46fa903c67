// Trains a model, saves it, resumes in another one, and inspects what it did, through sheaf's C++ interface.
//
//   train PLAN FOLDER
//
// Expected output: "resumed: the same losses", "evaluated", then the layer that took longest.
#include <sheaf/files.h>
#include <sheaf/trace.h>
#include <sheaf/trainer.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

int fail(const sheaf::Error& error) {
  std::cerr << sheaf::to_string(error);
  return 1;
}

/// `rows` rows of a trainer's data: waves, and class numbers from 0 to 9.
sheaf::Result<std::vector<sheaf::NamedTensor>> batch_of(const sheaf::Trainer& trainer, int64_t rows, int seed) {
  std::vector<sheaf::NamedTensor> values;
  for (size_t i = 0; i < trainer.inputs().size(); ++i) {
    const sheaf::ValueInfo& info = trainer.inputs()[i];
    std::vector<int64_t> shape = trainer.input_shape(i);
    if (info.batch_dim >= 0) shape[static_cast<size_t>(info.batch_dim)] = rows;
    auto tensor = sheaf::make_tensor(info.dtype, shape);
    if (!tensor) return tensor.error();
    float x = static_cast<float>(seed);
    for (float& value : info.dtype == sheaf::DType::float32 ? tensor->as<float>() : std::span<float>())
      value = std::sin(x += 0.7f);
    int64_t label = seed;
    for (int64_t& value : info.dtype == sheaf::DType::int64 ? tensor->as<int64_t>() : std::span<int64_t>())
      value = label++ % 10;
    values.push_back({info.name, std::move(*tensor)});
  }
  return values;
}

/// An epoch of 19 rows in batches of 8: the last has 3. Returns the losses.
sheaf::Result<std::vector<float>> epoch(sheaf::Trainer& trainer, const sheaf::RunOptions& options = {}) {
  std::vector<float> losses;
  for (const int64_t rows : {8, 8, 3}) {
    auto batch = batch_of(trainer, rows, static_cast<int>(losses.size()));
    if (!batch) return batch.error();
    auto loss = trainer.step(sheaf::views_of(*batch), options);
    if (!loss) return loss.error();
    losses.push_back(*loss);
  }
  ++trainer.progress().epochs;  // what schedules count
  return losses;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: train PLAN FOLDER\n";
    return 2;
  }
  const std::string folder = argv[2], checkpoint = folder + "/checkpoint.safetensors";
  // Devices and plans are values: everything bound to them shares them.
  auto devices = sheaf::DeviceList::open("cpu:0,cpu:1");
  if (!devices) return fail(devices.error());
  auto plan = sheaf::SharedPlan::load(argv[1]);
  if (!plan) return fail(plan.error());
  auto model = sheaf::Model::from_plan(*plan);
  if (!model) return fail(model.error());
  if (auto done = model->initialise_parameters(1); !done) return fail(done.error());
  auto trainer = sheaf::Trainer::bind(*model, *devices, 8);
  if (!trainer) return fail(trainer.error());
  if (auto done = epoch(*trainer); !done) return fail(done.error());
  if (auto saved = trainer->save(checkpoint); !saved) return fail(saved.error());
  auto expected = epoch(*trainer);
  if (!expected) return fail(expected.error());

  // Another model of the same plan continues where the first was saved.
  auto other = sheaf::Model::from_plan(*plan);
  if (!other) return fail(other.error());
  auto resumed = sheaf::Trainer::bind(*other, *devices, 8);
  if (!resumed) return fail(resumed.error());
  if (auto restored = resumed->restore(checkpoint); !restored) return fail(restored.error());
  if (resumed->progress().steps != 3) return fail(sheaf::Error("the checkpoint is of another step"));
  sheaf::RunOptions traced;
  traced.trace = std::make_shared<sheaf::Trace>();
  auto losses = epoch(*resumed, traced);
  if (!losses) return fail(losses.error());
  if (*losses != *expected) return fail(sheaf::Error("the resumed run has other losses"));
  // Other changed values, besides the parameters, have names too.
  for (const sheaf::ParameterInfo& entry : resumed->state()) {
    auto a = trainer->read_state(entry.name), b = resumed->read_state(entry.name);
    if (!a || !b || a->bytes != b->bytes) return fail(sheaf::Error("the resumed run differs in " + entry.name));
  }
  std::cout << "resumed: the same losses\n";

  // Weights go to PyTorch and come back; a session sees the trainer's changes to them.
  const std::string weights = folder + "/weights.safetensors";
  if (auto saved = other->save_parameters(weights); !saved) return fail(saved.error());
  if (auto loaded = model->load_parameters(weights); !loaded) return fail(loaded.error());
  auto session = model->bind(*devices, 5);
  if (!session) return fail(session.error());
  auto rows = batch_of(*trainer, 5, 0);
  if (!rows) return fail(rows.error());
  auto output = sheaf::make_tensor(sheaf::DType::float32, session->output_shape(0));
  if (!output) return fail(output.error());
  const sheaf::TensorView input = sheaf::view_of(rows->front());
  sheaf::MutableTensorView result{model->outputs()[0].name, output->dtype, output->shape, output->bytes.data()};
  if (auto done = session->run({&input, 1}, {&result, 1}); !done) return fail(done.error());
  // A buffer that is too short is an error, not a corruption.
  result.shape[0] = 4;
  if (session->run({&input, 1}, {&result, 1})) return fail(sheaf::Error("a short buffer was accepted"));
  std::cout << "evaluated\n";

  const sheaf::BindingReport report = session->report();  // of the host and two devices
  if (report.lanes.size() != 3 || report.operations.empty())
    return fail(sheaf::Error("the session's report is of something else"));

  for (const sheaf::Profile& profile : traced.trace->profiles())
    if (profile.program == "train" && profile.batch == 8) std::cout << sheaf::by_layer(profile).front().layer << '\n';
  return 0;
}
