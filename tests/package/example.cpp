// Runs a plan on two CPU devices through sheaf's C++ interface and compares it with host-only mode.
//
//   example PLAN [BATCH]
//
// Expected output: one line per output with its shape, then "the same on two devices".
#include <sheaf/model.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

namespace {

int fail(const sheaf::Error& error) {
  std::cerr << sheaf::to_string(error);
  return 1;
}

/// Runs `model` on `devices`; returns its float32 outputs, one after another.
sheaf::Result<std::vector<std::vector<float>>> run(const sheaf::Model& model, const char* devices, int64_t batch,
                                                   const std::vector<std::vector<float>>& inputs) {
  auto session = model.bind(devices, batch);
  if (!session) return session.error();
  std::vector<const void*> input_buffers;
  for (const auto& input : inputs) input_buffers.push_back(input.data());
  std::vector<std::vector<float>> outputs;
  std::vector<void*> output_buffers;
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    size_t count = 1;
    for (int64_t size : session->output_shape(i)) count *= static_cast<size_t>(size);
    output_buffers.push_back(outputs.emplace_back(count).data());
  }
  // The output of the model's Print layers is dropped here.
  const sheaf::RunOptions options{.print = [](std::string_view) {}};
  if (auto done = session->run(input_buffers, output_buffers, options); !done) return done.error();
  return outputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: example PLAN [BATCH]\n";
    return 2;
  }
  const int64_t batch = argc > 2 ? std::atoll(argv[2]) : 30;
  auto model = sheaf::Model::load(argv[1]);
  if (!model) return fail(model.error());
  if (auto done = model->initialise_parameters(1); !done) return fail(done.error());

  // Inputs are the caller's own memory, dense and row-major, as large as the session requires.
  auto session = model->bind("cpu", batch);
  if (!session) return fail(session.error());
  std::vector<std::vector<float>> inputs;
  for (size_t i = 0; i < model->inputs().size(); ++i) {
    if (model->inputs()[i].dtype != sheaf::DType::float32) return fail(sheaf::Error("this example takes float32 inputs only"));
    size_t count = 1;
    for (int64_t size : session->input_shape(i)) count *= static_cast<size_t>(size);
    auto& input = inputs.emplace_back(count);
    for (size_t j = 0; j < count; ++j) input[j] = std::sin(static_cast<float>(j));
  }
  for (size_t i = 0; i < model->outputs().size(); ++i) {
    std::cout << model->outputs()[i].name << ":";
    for (int64_t size : session->output_shape(i)) std::cout << ' ' << size;
    std::cout << '\n';
  }

  auto whole = run(*model, "cpu", batch, inputs);
  if (!whole) return fail(whole.error());
  auto parallel = run(*model, "cpu:0,cpu:1", batch, inputs);
  if (!parallel) return fail(parallel.error());
  for (size_t i = 0; i < whole->size(); ++i)
    for (size_t j = 0; j < (*whole)[i].size(); ++j)
      if (!(std::abs((*whole)[i][j] - (*parallel)[i][j]) <= 1e-5f)) {
        std::cerr << "output " << i << " differs at element " << j << '\n';
        return 1;
      }
  std::cout << "the same on two devices\n";

  // A failure is a value: here a device kind that doesn't exist.
  if (model->bind("abacus:0", batch)) return fail(sheaf::Error("an unknown device was accepted"));
  return 0;
}
