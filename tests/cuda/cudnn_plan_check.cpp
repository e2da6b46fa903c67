// Binds every program of plans to an absent GPU, as far as that goes, and shows what computes each library operation.
//   cudnn_plan_check --batch N --devices N [--fast] [--device-model NAME] PLAN...
// Exits with 1 if an operation has no engine, with 77 if cuDNN is missing. It needs a driver that cuDNN can build plans with: a
// GPU's, or the one that make_mock_driver.sh makes.
#include "runtime/check/reader.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/gpu_models.h"
#include "runtime/cuda/planned_device.h"
#include "runtime/cuda/vendor/cudnn.h"
#include "runtime/plan/op_list.h"
#include "runtime/steps/step_operands.h"
#include "tools/estimate/planned_program.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

namespace {

using namespace sheaf;

struct Request {
  int64_t batch = 0;
  int devices = 0;
  bool fast = false;
  const cuda::GpuModel* model = &cuda::gpu_models().front();
};

/// One line per operation; identical ones of other replicas are left out.
void show(const PlannedProgram& planned, const Program& program) {
  std::set<std::string> shown;
  for (const Instance& instance : planned.binding.program.instances) {
    const Instance::Call* call = instance.call();
    if (!call || !instance.step) continue;
    const Step& step = program.steps[instance.step.index()];
    if (step.op == Op::kernel || instance.entry < 0) continue;
    std::string line = "  " + to_string(step.op) + " | " + step.layer + " |";
    for (const TensorId tensor : instance.inputs) {
      const TensorSpec& spec = planned.binding.program.tensors[tensor].spec;
      line += " " + std::string(name_of(spec.dtype)) + to_string(spec.dims) + (spec.plain() ? "" : " " + spec.format->name());
    }
    line += " | " + call->implementation + " | " + std::to_string(call->scratch_bytes) + " | " + call->reason;
    if (shown.insert(line).second) std::puts(line.c_str());
  }
}

int count_failures(const Plan& plan, const std::string& name, const DeviceSet& devices, const Request& request) {
  int failures = 0;
  const std::pair<const char*, const Program*> programs[] = {{"infer", &plan.infer},           {"train", &plan.train},
                                                             {"accumulate", &plan.accumulate}, {"update", &plan.update},
                                                             {"forward", &plan.forward},       {"backward", &plan.backward}};
  for (const auto& [kind, program] : programs) {
    if (program->steps.empty()) continue;
    std::printf("%s %s, batch %lld, %d device(s) %s%s\n", name.c_str(), kind, static_cast<long long>(request.batch),
                request.devices, request.model->key, request.fast ? ", fast" : "");
    BindOptions options;
    options.fast_numerics = request.fast;
    const auto planned = plan_program(plan, *program, devices, request.batch, options);
    if (!planned) {
      std::printf("  FAILED: %s\n", planned.error().message().c_str());
      ++failures;
      continue;
    }
    show(*planned, *program);
    for (LaneId lane : devices.lanes())
      if (lane != kHostLane)
        std::printf("  arena of %s: %zu bytes\n", devices.name(lane).c_str(), planned->binding.memory.lanes[lane].bytes);
  }
  return failures;
}

}  // namespace

int main(int count, char** arguments) {
  Request request;
  std::vector<std::string> files;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--fast") request.fast = true;
    else if (argument == "--batch" && i + 1 < count) request.batch = std::atoll(arguments[++i]);
    else if (argument == "--devices" && i + 1 < count) request.devices = std::atoi(arguments[++i]);
    else if (argument == "--device-model" && i + 1 < count) request.model = cuda::find_gpu_model(arguments[++i]);
    else files.emplace_back(argument);
  }
  if (files.empty() || request.batch < 1 || request.devices < 1 || !request.model) {
    std::fputs("usage: cudnn_plan_check --batch N --devices N [--fast] [--device-model NAME] PLAN...\n", stderr);
    return 2;
  }
  if (const std::string& why = cuda::planning_library(*request.model).no_engines; !why.empty()) {
    std::puts(why.c_str());
    return cuda::Cudnn::version().empty() ? 77 : 1;
  }
  std::vector<std::string> names;
  std::vector<std::shared_ptr<Device>> gpus;
  for (int k = 0; k < request.devices; ++k) {
    names.push_back("cuda:" + std::to_string(k));
    gpus.push_back(cuda::planned_device(k, "planned", request.model->key));
  }
  const DeviceSet devices(cpu_device(), std::move(gpus), names, 1);
  int failures = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto plan = load_plan(files[i]);
    if (!plan) {
      std::fprintf(stderr, "%s\n", plan.error().message().c_str());
      return 2;
    }
    failures += count_failures(*plan, files[i].substr(files[i].rfind('/') + 1), devices, request);
  }
  std::printf("%d program(s) failed\n", failures);
  return failures ? 1 : 0;
}
