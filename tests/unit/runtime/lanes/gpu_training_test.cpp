// Training on virtual GPUs: the numbers of plain C++, whatever is between the lanes, and what a step asks of the driver.
#include "gpu_training.h"
#include "runtime/plan/op_list.h"

#include "runtime/bind/binding.h"
#include "sheaf/trace.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace sheaf {
namespace {

using namespace gpu_training;

using sim::Call;
using sim::MachineOptions;
using sim::SimMachine;
using ::testing::HasSubstr;
using ::testing::Not;

void expect_near(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << what << " at " << i;
}

void expect_trains(Training& training, int64_t rows) {
  TrainingReference reference;
  reference.lr = static_cast<float>(training.trainer->progress().lr);
  for (int step = 0; step < 4; ++step) {  // eager, recorded, replayed
    const Batch batch(rows, step);
    const float expected = reference.step(batch.x, batch.t);
    auto loss = training.trainer->step(batch.buffers());
    ASSERT_TRUE(loss) << to_string(loss.error());
    EXPECT_NEAR(*loss, expected, 1e-3 * (1 + expected));
    expect_near(parameter_values(training.model, 0), reference.w, "w");
    expect_near(parameter_values(training.model, 1), reference.row, "row");
    expect_near(state_values(training.model, *training.trainer, 0), reference.m, "w.m");
  }
}

TEST(GpuTraining, TheNumbersOfPlainCodeOnAllLists) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:0", "cuda:0,cuda:1,cuda:2", "cuda:0,cuda:0,cuda:1",
                           "cuda:0,cpu:0", "cpu:0,cuda:0"}) {
    for (const bool collectives : {true, false}) {
      for (const int plain : {0, 1, 2}) {
        SCOPED_TRACE(std::string(list) + (collectives ? ", collectives" : "") + ", " + std::to_string(plain));
        BindOptions bind;
        bind.graphs = plain != 1;
        bind.deterministic = plain != 2;
        Training training(machine(collectives), list, {}, 7, bind);
        ASSERT_TRUE(training.trainer);
        expect_trains(training, 7);
      }
    }
  }
}

TEST(GpuTraining, UpdatesInAnyOrderOfReadersAndWriters) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cpu:0,cuda:0"}) {
    for (int variant = 0; variant < 5; ++variant) {
      TrainingOptions options;
      options.in_place = variant != 0;
      options.slow_reader = variant == 1 || variant == 4;
      options.reads_after = variant == 2;
      options.swap = variant == 3;
      options.refuse = variant == 4;
      SCOPED_TRACE(std::string(list) + ", variant " + std::to_string(variant));
      Training training(machine(), list, options, 6);
      ASSERT_TRUE(training.trainer);
      expect_trains(training, 6);
    }
  }
}

TEST(GpuTraining, WhatCannotBeCapturedIsLaunchedWithTheSameNumbers) {
  for (const Call call : {Call::begin_capture, Call::end_capture}) {
    SCOPED_TRACE(sim::name_of(call));
    Training training(machine(), "cuda:0", {}, 7);
    ASSERT_TRUE(training.trainer);
    training.machine.driver().fail(call, 1, "not now");
    ::testing::internal::CaptureStderr();
    expect_trains(training, 7);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::AllOf(::testing::StartsWith("warning: cuda:0: "), ::testing::HasSubstr("not now")));
    EXPECT_EQ(training.machine.driver().calls(Call::launch_graph), 0);
  }
}

/// Steps on these batches, each with the next one at hand if `ahead` says so; the bits of the losses and weights.
struct Trained {
  std::vector<float> losses;
  std::vector<std::vector<float>> weights;
  std::vector<int64_t> copies;  ///< by step
  bool operator==(const Trained& other) const { return losses == other.losses && weights == other.weights; }
};
Trained train(Training& training, const std::vector<Batch>& batches, const std::function<const Batch*(size_t step)>& next,
              const RunOptions& options = {}) {
  Trained trained;
  sim::SimDriver& driver = training.machine.driver();
  for (size_t step = 0; step < batches.size(); ++step) {
    const int64_t before = driver.calls(Call::copy);
    const Batch* coming = next(step);
    const auto rows = static_cast<int64_t>(batches[step].t.size());
    auto loss = training.trainer->step_rows(rows, batches[step].buffers(), options,
                                            coming ? coming->buffers() : std::vector<const void*>());
    EXPECT_TRUE(loss) << to_string(loss.error());
    trained.losses.push_back(loss ? *loss : 0);
    trained.weights.push_back(parameter_values(training.model, 0));
    trained.copies.push_back(driver.calls(Call::copy) - before);
  }
  return trained;
}

TEST(GpuTraining, TheNextBatchComesDuringAStepWithTheSameBits) {
  const int64_t rows = 20'000;
  const auto batches = large_batches(rows, 6);
  const auto no_next = [](size_t) -> const Batch* { return nullptr; };
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:0", "cuda:0,cpu:0"}) {
    for (const bool graphs : {true, false}) {
      SCOPED_TRACE(std::string(list) + (graphs ? "" : ", no graphs"));
      BindOptions bind;
      bind.graphs = graphs;
      Training plain(machine(), list, {}, rows, bind), ahead(machine(), list, {}, rows, bind),
          odd(machine(), list, {}, rows, bind);
      ASSERT_TRUE(plain.trainer && ahead.trainer && odd.trainer);
      const Trained expected = train(plain, batches, no_next);
      const Trained found =
          train(ahead, batches, [&](size_t step) { return step + 1 < batches.size() ? &batches[step + 1] : nullptr; });
      EXPECT_EQ(found, expected);
      // What is told may be another batch, or none.
      EXPECT_EQ(train(odd, batches, [&](size_t step) { return step % 3 == 2 ? nullptr : &batches[(step + 1 + step % 2) % 6]; }),
                expected);
      if (std::string_view(list) != "cuda:0") continue;
      EXPECT_EQ(found.copies[0], expected.copies[0] + 2) << "its own two inputs, and the next step's";
      EXPECT_EQ(found.copies[1], expected.copies[1]);
      EXPECT_EQ(found.copies[5], expected.copies[5] - 2) << "both had come";
      if (graphs) {
        EXPECT_GT(ahead.machine.driver().calls(Call::launch_graph), 0);
      }
    }
  }
}

TEST(GpuTraining, WhatCameAheadIsForgottenWhereOthersUsedTheMemory) {
  const auto batches = large_batches(20'000, 2);
  const Batch rest(11'000, 5);
  Training plain(machine(), "cuda:0", {}, 20'000), ahead(machine(), "cuda:0", {}, 20'000);
  ASSERT_TRUE(plain.trainer && ahead.trainer);
  for (Training* training : {&plain, &ahead}) {
    std::vector<float> losses;
    const auto step = [&](const Batch& batch, const Batch* next) {
      auto loss = training->trainer->step_rows(static_cast<int64_t>(batch.t.size()), batch.buffers(), {},
                                               next && training == &ahead ? next->buffers() : std::vector<const void*>());
      ASSERT_TRUE(loss) << to_string(loss.error());
      losses.push_back(*loss);
    };
    step(batches[0], &batches[1]);
    step(rest, nullptr);  // in the same arena
    step(batches[1], nullptr);
    step(rest, &rest);
    step(rest, nullptr);
    Batch changing = batches[0];
    step(batches[1], &changing);
    changing = batches[1];
    training->trainer->forget_next();
    step(changing, nullptr);
    static std::vector<float> expected;
    if (training == &plain) expected = losses;
    EXPECT_EQ(losses, expected);
    EXPECT_EQ(parameter_values(training->model, 0), parameter_values(plain.model, 0));
  }
}

TEST(GpuTraining, ANextBatchThatIsNotFiniteFailsItsOwnStep) {
  auto batches = large_batches(20'000, 3);
  batches[1].x[7] = std::numeric_limits<float>::quiet_NaN();
  Training training(machine(), "cuda:0", {}, 20'000);
  ASSERT_TRUE(training.trainer);
  auto first = training.trainer->step_rows(20'000, batches[0].buffers(), {}, batches[1].buffers());
  ASSERT_TRUE(first && std::isfinite(*first));
  const auto before = parameter_values(training.model, 0);
  auto second = training.trainer->step_rows(20'000, batches[1].buffers(), {}, batches[2].buffers());
  ASSERT_TRUE(second && !std::isfinite(*second));
  EXPECT_EQ(parameter_values(training.model, 0), before) << "nothing was updated";
  EXPECT_EQ(training.trainer->progress().steps, 1);
  EXPECT_TRUE(training.trainer->first_not_finite(20'000, batches[1].buffers()));
  auto third = training.trainer->step_rows(20'000, batches[2].buffers());
  EXPECT_TRUE(third && std::isfinite(*third));
}

/// Rows whose x are bytes, each of three channels with numbers of its own, and t too.
struct ByteBatch {
  std::vector<uint8_t> x, t;
  std::vector<float> x_numbers, t_numbers;
  ByteBatch(int64_t rows, int seed) : x(size_t(rows) * 3), t(size_t(rows)) {
    const ByteNumbers of_x = numbers_of_x(), of_t = numbers_of_t();
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>((i * 89 + size_t(seed) * 41) % 256);
    for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<uint8_t>((i * 7 + size_t(seed)) % 256);
    for (size_t i = 0; i < x.size(); ++i) x_numbers.push_back(of_x[i % 3 * 256 + x[i]]);
    for (size_t i = 0; i < t.size(); ++i) t_numbers.push_back(of_t[t[i]]);
  }
  static ByteNumbers numbers_of_x() {
    ByteNumbers numbers;
    for (const float mean : {0.1F, 0.4F, 0.7F})
      for (int i = 0; i < 256; ++i) numbers.push_back((static_cast<float>(i) / 255.0F - mean) / 0.3F);
    return numbers;
  }
  static ByteNumbers numbers_of_t() {
    ByteNumbers numbers;
    for (int i = 0; i < 256; ++i) numbers.push_back(static_cast<float>(i) / 255.0F);
    return numbers;
  }
  std::vector<const void*> buffers(bool bytes) const {
    return bytes ? std::vector<const void*>{x.data(), t.data()} : std::vector<const void*>{x_numbers.data(), t_numbers.data()};
  }
};

BindOptions bytes_of_inputs(bool graphs) {
  BindOptions bind;
  bind.graphs = graphs;
  bind.bytes = {{"x", ByteBatch::numbers_of_x()}, {"t", ByteBatch::numbers_of_t()}};
  return bind;
}

/// Losses and weights of steps on batches of these rows, each with the next one at hand.
Trained train_bytes(Training& training, const std::vector<int64_t>& rows, bool bytes) {
  std::vector<ByteBatch> batches;
  for (size_t i = 0; i < rows.size(); ++i) batches.emplace_back(rows[i], int(i));
  Trained trained;
  training.trainer->progress().lr = 1e-6;
  for (size_t i = 0; i < batches.size(); ++i) {
    const bool ahead = i + 1 < batches.size() && rows[i + 1] == rows[i];
    auto loss = training.trainer->step_rows(rows[i], batches[i].buffers(bytes), {},
                                            ahead ? batches[i + 1].buffers(bytes) : std::vector<const void*>());
    EXPECT_TRUE(loss) << to_string(loss.error());
    trained.losses.push_back(loss ? *loss : 0);
    for (const size_t k : {0, 1}) trained.weights.push_back(parameter_values(training.model, k));
    trained.weights.push_back(state_values(training.model, *training.trainer, 0));
  }
  return trained;
}

TEST(GpuTraining, BytesTrainAsTheNumbersThatTheyStandFor) {
  const std::vector<int64_t> small = {7, 7, 7, 2, 7}, large = {20'000, 20'000, 20'000, 11'001, 20'000};
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:0", "cuda:0,cuda:1,cuda:2"}) {
    for (const bool graphs : {true, false}) {
      for (const auto& rows : {small, large}) {
        SCOPED_TRACE(std::string(list) + (graphs ? ", " : ", no graphs, ") + std::to_string(rows[0]) + " rows");
        BindOptions plain;
        plain.graphs = graphs;
        Training numbers(machine(), list, {}, rows[0], plain), bytes(machine(), list, {}, rows[0], bytes_of_inputs(graphs));
        ASSERT_TRUE(numbers.trainer && bytes.trainer);
        for (const size_t input : {0, 1}) {
          EXPECT_EQ(numbers.trainer->inputs()[input].dtype, DType::float32);
          EXPECT_EQ(bytes.trainer->inputs()[input].dtype, DType::uint8);
        }
        EXPECT_EQ(train_bytes(bytes, rows, true), train_bytes(numbers, rows, false));
      }
    }
  }
}

TEST(GpuTraining, NumbersAreGivenWhereACpuTrainsToo) {
  for (const char* list : {"cuda:0,cpu:0", "cpu:0,cuda:0", "cpu:0"}) {
    SCOPED_TRACE(list);
    Training training(machine(), list, {}, 7, bytes_of_inputs(true)), plain(machine(), list, {}, 7);
    ASSERT_TRUE(training.trainer && plain.trainer);
    for (const ValueInfo& input : training.trainer->inputs()) EXPECT_EQ(input.dtype, DType::float32);
    EXPECT_EQ(train_bytes(training, {7, 7, 3}, false), train_bytes(plain, {7, 7, 3}, false));
  }
}

/// What the driver copied from the host's memory, by size, in the third step.
TEST(GpuTraining, AQuarterOfTheBytesCrossesTheBus) {
  for (const bool bytes : {true, false}) {
    MachineOptions options = machine();
    options.driver.seconds = [](const std::string&) { return 1e-3; };
    options.driver.seconds_per_question = 1e-3;
    Training training(options, "cuda:0", {}, 40'000, bytes ? bytes_of_inputs(true) : BindOptions());
    ASSERT_TRUE(training.trainer);
    train_bytes(training, {40'000, 40'000, 40'000}, bytes);
    std::map<std::string, int> copies;
    for (const sim::Timed& timed : training.machine.driver().history())
      if (timed.name.starts_with("copy of ")) ++copies[timed.name];
    const size_t size = bytes ? 1 : sizeof(float);
    EXPECT_EQ(copies["copy of " + std::to_string(40'000 * 3 * size) + " bytes"], 3);
    EXPECT_EQ(copies["copy of " + std::to_string(40'000 * size) + " bytes"], 3);
    EXPECT_EQ(copies["copy of " + std::to_string(40'000 * 3 * (5 - size)) + " bytes"], 0);
    size_t moved = 0;
    for (const Communication& communication : training.trainer->binding().info().communications)
      if (communication.producer < 0 && communication.bytes > 1000) moved += communication.bytes;
    EXPECT_EQ(moved, 40'000 * 4 * size) << "what explain and traces are told";
  }
}

TEST(GpuTraining, BytesThatNoStepTakesAreErrors) {
  SimMachine machine(gpu_training::machine());
  const auto devices = machine.list("cuda:0");
  const Model model = Training::load({});
  const auto problem = [&](const std::string& name, size_t numbers) {
    BindOptions bind;
    bind.bytes[name] = ByteNumbers(numbers);
    auto bound = Trainer::bind(model, devices, 6, bind);
    return bound ? std::string() : bound.error().message();
  };
  EXPECT_EQ(problem("x", 256), "");
  EXPECT_EQ(problem("x", 768), "");
  EXPECT_THAT(problem("x", 512), HasSubstr("bytes for 'x': 512 numbers; there are 256, or 256 for each of at most 3 channels"));
  EXPECT_THAT(problem("t", 768), HasSubstr("768 numbers"));
  EXPECT_THAT(problem("lr", 256), HasSubstr("bytes for 'lr': the training step has no such input or target"));
  BindOptions bind;
  bind.bytes["t"] = ByteNumbers(256);
  auto session = model.bind(devices, 6, bind);
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message(), HasSubstr("bytes for 't': the model has no such input"));
}

/// Whole batches and smaller ones, by addresses and by views.
TEST(GpuTraining, BytesAreInferredFromAsTheNumbersThatTheyStandFor) {
  for (const std::string list : {"cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:0", "cuda:0,cpu:0", "cpu:0"}) {
    for (const bool graphs : {true, false}) {
      SCOPED_TRACE(list + (graphs ? "" : ", no graphs"));
      SimMachine machine(sheaf::machine());
      const Model model = Training::load({});
      BindOptions given = bytes_of_inputs(graphs), plain;
      given.bytes.erase("t");
      plain.graphs = graphs;
      auto of_bytes = model.bind(machine.list(list), 7, given), of_numbers = model.bind(machine.list(list), 7, plain);
      ASSERT_TRUE(of_bytes && of_numbers);
      const bool gpus = list.find("cpu") == std::string::npos;
      ASSERT_EQ(of_bytes->inputs()[0].dtype, gpus ? DType::uint8 : DType::float32);
      ASSERT_EQ(of_numbers->inputs()[0].dtype, DType::float32);
      for (const int64_t rows : {7, 7, 7, 2, 7}) {
        const ByteBatch batch(rows, static_cast<int>(rows));
        std::vector<float> y(size_t(rows), -1), expected(size_t(rows), -2);
        const auto infer = [&](Session& session, std::vector<float>& to) {
          const auto dtype = session.inputs()[0].dtype;
          const void* x = dtype == DType::uint8 ? static_cast<const void*>(batch.x.data()) : batch.x_numbers.data();
          const TensorView in[] = {{"x", dtype, {rows, 3}, x}};
          const MutableTensorView out[] = {{"y", DType::float32, {rows}, to.data()}};
          auto ok = session.run(in, out);
          EXPECT_TRUE(ok) << to_string(ok.error());
        };
        infer(*of_bytes, y);
        infer(*of_numbers, expected);
        EXPECT_EQ(y, expected);
      }
      const std::vector<float> wrong(21);
      const TensorView in[] = {{"x", gpus ? DType::float32 : DType::uint8, {7, 3}, wrong.data()}};
      std::vector<float> y(7);
      const MutableTensorView out[] = {{"y", DType::float32, {7}, y.data()}};
      EXPECT_FALSE(of_bytes->run(in, out));
    }
  }
}

/// On the device's clock a batch has come before the step before it ends.
TEST(GpuTraining, TheNextBatchComesBesideTheWork) {
  constexpr size_t kSteps = 4;
  const auto batches = large_batches(20'000, kSteps);
  const std::string copies_of_inputs[] = {"copy of " + std::to_string(batches[0].x.size() * sizeof(float)) + " bytes",
                                          "copy of " + std::to_string(batches[0].t.size() * sizeof(float)) + " bytes"};
  const auto came_before_the_step = [&](bool ahead, bool graphs) {
    MachineOptions options = machine();
    options.driver.seconds = [](const std::string& what) { return what.starts_with("copy of") ? 1e-3 : 10e-3; };
    options.driver.seconds_per_question = 1e-3;  // on the real clock a slow host would put the copies in too late
    BindOptions bind;
    bind.graphs = graphs;
    Training training(options, "cuda:0", {}, 20'000, bind);
    EXPECT_TRUE(training.trainer);
    if (!training.trainer) return -1;
    train(training, batches, [&](size_t step) { return ahead && step + 1 < kSteps ? &batches[step + 1] : nullptr; });
    std::vector<sim::Timed> copies, updates;  // by step
    for (const sim::Timed& timed : training.machine.driver().history()) {
      if (std::ranges::count(copies_of_inputs, timed.name)) copies.push_back(timed);
      if (timed.name == "layer 'new_w', operation layer") updates.push_back(timed);
    }
    EXPECT_EQ(copies.size(), 2 * kSteps);
    EXPECT_EQ(updates.size(), kSteps);
    int came = 0;
    for (size_t i = 2; i < copies.size() && updates.size() == kSteps; ++i) came += copies[i].end < updates[i / 2 - 1].end;
    return came;
  };
  for (const bool graphs : {true, false}) {
    SCOPED_TRACE(graphs ? "graphs" : "no graphs");
    EXPECT_EQ(came_before_the_step(true, graphs), 2 * (kSteps - 1)) << "all but the first batch";
    EXPECT_EQ(came_before_the_step(false, graphs), 0);
  }
}

/// Copies for the next step have a track of their own.
TEST(GpuTraining, ATraceShowsTheNextBatchBesideTheWork) {
  const auto batches = large_batches(20'000, 4);
  Training training(machine(), "cuda:0", {}, 20'000);
  ASSERT_TRUE(training.trainer);
  RunOptions run;
  run.trace = std::make_shared<Trace>();
  train(training, batches, [&](size_t step) { return step + 1 < batches.size() ? &batches[step + 1] : nullptr; }, run);
  const Json trace = Json::parse(run.trace->json());
  const auto slices = [&](const char* track, int step) {
    int tid = 0;
    for (const Json& event : trace["traceEvents"])
      if (event["ph"] == "M" && event["name"] == "thread_name" && event["args"]["name"] == track) tid = event["tid"];
    return std::ranges::count_if(trace["traceEvents"], [&](const Json& event) {
      return event["ph"] == "X" && event["tid"] == tid && event["args"].value("step", -1) == step;
    });
  };
  for (int step = 1; step <= 4; ++step) {
    SCOPED_TRACE(step);
    EXPECT_EQ(slices("cuda:0 (copies)", step), step == 1 ? 4 : step == 4 ? 0 : 2);
    EXPECT_GT(slices("cuda:0", step), 5);
  }
}

/// Kernels are loaded when they are first launched, and a collective that waits for another device's may keep the loader
/// waiting.
TEST(GpuTraining, EachOperationHasRunByItselfBeforeTheFirstStepOfSeveralGpus) {
  const auto launches_of_first_step = [](bool collectives) {
    Training training(machine(collectives), "cuda:0,cuda:1", {}, 6);
    sim::SimDriver& driver = training.machine.driver();
    const Batch batch(6);
    std::vector<int64_t> made;
    for (int step = 0; step < 2; ++step) {
      const int64_t before = driver.calls(Call::launch) + driver.calls(Call::host_function);
      EXPECT_TRUE(training.trainer->step(batch.buffers()));
      made.push_back(driver.calls(Call::launch) + driver.calls(Call::host_function) - before);
    }
    return made;
  };
  const auto alone = launches_of_first_step(false), together = launches_of_first_step(true);
  EXPECT_EQ(alone[0], alone[1]);
  EXPECT_GT(together[0], together[1]) << "all but what writes variables ran once before";
}

/// The graph holds the flag's clearing, the copy of x, t and lr, and the loss's.
TEST(GpuTraining, ASmallStepIsOneGraphLaunchAndNothingElse) {
  Training training(machine(), "cuda:0", {}, 4);
  ASSERT_TRUE(training.trainer);
  const Batch batch(4);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(training.trainer->step(batch.buffers()));
  sim::SimDriver& driver = training.machine.driver();
  const auto counts = [&] {
    std::map<std::string, int64_t> all;
    for (int call = 0; call < static_cast<int>(Call::count); ++call) {
      all[std::string(sim::name_of(static_cast<Call>(call)))] = driver.calls(static_cast<Call>(call));
    }
    return all;
  };
  const auto before = counts();
  ASSERT_TRUE(training.trainer->step(batch.buffers()));
  auto after = counts();
  for (auto& [name, count] : after) count -= before.at(name);
  after.erase(std::string(sim::name_of(Call::query)));  // whether it is done
  for (const auto& [name, count] : after) EXPECT_EQ(count, name == sim::name_of(Call::launch_graph)) << name;
}

TEST(GpuTraining, BucketsAmongDistinctDevicesOnly) {
  struct {
    const char* list;
    bool collectives, deterministic;
    size_t broadcasts, gathers, reduces;
  } const cases[] = {{"cuda:0,cuda:1", true, true, 2, 2, 0},        {"cuda:0,cuda:1,cuda:2", true, true, 3, 3, 0},
                     {"cuda:0,cuda:1", true, false, 2, 0, 2},       {"cuda:0,cuda:1", false, true, 0, 0, 0},
                     {"cuda:0,cuda:0", true, true, 0, 0, 0},        {"cuda:0,cuda:1,cuda:1", true, true, 0, 0, 0},
                     {"cuda:0,cuda:0,cuda:1", true, false, 0, 0, 0}};
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.list);
    BindOptions bind;
    bind.deterministic = expected.deterministic;
    Training training(machine(expected.collectives), expected.list, {}, 7, bind);
    ASSERT_TRUE(training.trainer);
    size_t broadcasts = 0, gathers = 0, reduces = 0, arrows = 0;
    for (const OperationInfo& operation : training.trainer->binding().info().operations) {
      if (operation.steps.empty()) continue;
      broadcasts += operation.op == Op::broadcast;
      gathers += operation.op == Op::gather;
      reduces += operation.op == Op::sum;
      EXPECT_THAT(operation.reason, HasSubstr("1 parameter"));
    }
    for (const Communication& communication : training.trainer->binding().info().communications) {
      if (!communication.layer.empty() || communication.op == Op::transfer || communication.op == Op::share) continue;
      ++arrows;
      EXPECT_EQ(communication.bytes, 12) << to_string(communication.op);
      EXPECT_NE(training.trainer->binding().info().operations[size_t(communication.producer)].lane,
                training.trainer->binding().info().operations[size_t(communication.consumer)].lane);
    }
    EXPECT_EQ(broadcasts, expected.broadcasts);
    EXPECT_EQ(gathers, expected.gathers);
    EXPECT_EQ(reduces, expected.reduces);
    if (broadcasts > 0) EXPECT_GE(arrows, broadcasts - 1 + std::max(gathers, reduces) - 1);
  }
}

TEST(GpuTraining, ALossThatIsNotFiniteLeavesVariablesAsTheyWere) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cpu:0,cuda:0", "cuda:0,cpu:0"}) {
    for (const bool in_place : {true, false}) {
      for (const int at : {0, 1, 3}) {
        SCOPED_TRACE(std::string(list) + ", step " + std::to_string(at));
        TrainingOptions options;
        options.in_place = in_place;
        Training training(machine(), list, options, 6);
        ASSERT_TRUE(training.trainer);
        for (int i = 0; i < at; ++i) ASSERT_TRUE(training.trainer->step(Batch(6, i).buffers()));
        const auto w = parameter_values(training.model, 0), row = parameter_values(training.model, 1);
        const auto m = state_values(training.model, *training.trainer, 0);
        Batch bad(6, at);
        bad.x[4] = std::numeric_limits<float>::quiet_NaN();
        auto loss = training.trainer->step(bad.buffers());
        ASSERT_TRUE(loss) << to_string(loss.error());
        EXPECT_TRUE(std::isnan(*loss));
        EXPECT_EQ(*training.trainer->first_not_finite(6, bad.buffers()), "net.fc");
        EXPECT_EQ(parameter_values(training.model, 0), w);
        EXPECT_EQ(parameter_values(training.model, 1), row);
        EXPECT_EQ(state_values(training.model, *training.trainer, 0), m);
        auto next = training.trainer->step(Batch(6, at).buffers());
        ASSERT_TRUE(next) << to_string(next.error());
        EXPECT_TRUE(std::isfinite(*next));
        EXPECT_NE(parameter_values(training.model, 0), w);
      }
    }
  }
}

TEST(GpuTraining, AFailureInAReplicaLeavesVariablesAsTheyWere) {
  TrainingOptions options;
  options.refuse = true;
  for (const char* list : {"cuda:0,cuda:1", "cuda:0,cpu:0", "cpu:0,cuda:0"}) {
    SCOPED_TRACE(list);
    Training training(machine(), list, options, 6);
    ASSERT_TRUE(training.trainer);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(training.trainer->step(Batch(6, i).buffers()));
      const auto w = parameter_values(training.model, 0), row = parameter_values(training.model, 1);
      Batch bad(6, i);
      bad.x[15] = 1000;  // a row of replica 1
      auto loss = training.trainer->step(bad.buffers());
      ASSERT_FALSE(loss);
      EXPECT_THAT(loss.error().message(), HasSubstr("replica 1 on device " + training.devices->name(LaneId(2))));
      EXPECT_THAT(loss.error().message(), HasSubstr("doesn't like what it sees"));
      EXPECT_EQ(parameter_values(training.model, 0), w);
      EXPECT_EQ(parameter_values(training.model, 1), row);
    }
  }
}

TEST(GpuTraining, FaultsSayWhereAndEndTheRun) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cpu:0,cuda:0"}) {
    SCOPED_TRACE(list);
    MachineOptions options = machine(false);
    options.driver.violation = nullptr;
    Training training(options, list, {}, 6);
    ASSERT_TRUE(training.trainer);
    ASSERT_TRUE(training.trainer->step(Batch(6).buffers()));
    training.machine.driver().fault(2);
    auto loss = training.trainer->step(Batch(6).buffers());
    ASSERT_FALSE(loss);
    EXPECT_THAT(loss.error().message(), HasSubstr("device cuda:"));
  }
}

}  // namespace
}  // namespace sheaf
