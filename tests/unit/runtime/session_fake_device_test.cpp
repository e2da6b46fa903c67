// The engine against a backend that the CPU isn't: memory of its own, and queues that work later, on threads of their
// own. What a CUDA backend will ask of binding and execution, on any machine.
#include "plan_builder.h"

#include "runtime/bind/binding.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/sheaf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

class FakeEvent : public Event {
 public:
  void synchronize() override {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done == recorded; });
  }
  std::mutex mutex;
  std::condition_variable changed;
  int recorded = 0, done = 0;
};

/// An operation that knows how many operands it has, so that the queue can keep their addresses.
struct FakeExecutable : Executable {
  std::unique_ptr<Executable> operation;
  size_t operands = 0;
  void run(void* const* buffers, void* scratch) override { operation->run(buffers, scratch); }
};

Result<Prepared> counted(Result<Prepared> prepared) {
  if (!prepared) return prepared;
  auto executable = std::make_unique<FakeExecutable>();
  executable->operation = std::move(prepared->executable);
  executable->operands = prepared->inputs.size() + prepared->outputs.size();
  prepared->executable = std::move(executable);
  return prepared;
}

class FakeQueue : public Queue {
 public:
  FakeQueue() : worker_([this] { work(); }) {}
  ~FakeQueue() override {
    enqueue(nullptr);
    worker_.join();
  }

  void launch(Executable& executable, void* const* buffers, void* scratch) override {
    const std::vector<void*> kept(buffers, buffers + static_cast<FakeExecutable&>(executable).operands);
    enqueue([&executable, kept, scratch] { executable.run(kept.data(), scratch); });
  }
  void copy(void* target, const void* source, const CopyShape& shape) override {
    enqueue([=] {
      for (size_t row = 0; row < shape.rows; ++row) {
        std::memcpy(static_cast<char*>(target) + row * shape.target_pitch,
                    static_cast<const char*>(source) + row * shape.source_pitch, shape.row_bytes);
      }
    });
  }
  void record(Event& event) override {
    auto& fake = static_cast<FakeEvent&>(event);
    const std::lock_guard lock(fake.mutex);
    const int number = ++fake.recorded;
    enqueue([&fake, number] {
      const std::lock_guard done_lock(fake.mutex);
      fake.done = number;
      fake.changed.notify_all();
    });
  }
  void wait(Event& event) override {
    enqueue([&event] { event.synchronize(); });
  }
  Result<void> synchronize() override {
    FakeEvent end;
    record(end);
    end.synchronize();
    const std::lock_guard lock(end.mutex);  // the worker has let go of it
    if (failing) return Error("the device fell off the bus");
    return {};
  }
  static inline std::atomic<bool> failing{false};

 private:
  void enqueue(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_one();
  }
  void work() {
    for (int count = 0;; ++count) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      if (!job) return;
      if (count % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));  // nobody may rely on speed
      job();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::thread worker_;
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(int space) : space_(space) {
    info_.kind = DeviceKind::cuda;
    info_.asynchronous = true;
  }
  ~FakeDevice() override { EXPECT_EQ(allocated, 0) << "memory was not given back"; }
  const DeviceInfo& info() const override { return info_; }
  int memory_space() const override { return space_; }
  Result<void*> allocate(size_t bytes) override {
    ++allocated;
    return cpu_device()->allocate(bytes);
  }
  void release(void* memory) override {
    --allocated;
    cpu_device()->release(memory);
  }
  Result<std::unique_ptr<Queue>> open_queue(int) override { return std::unique_ptr<Queue>(new FakeQueue); }
  Result<std::unique_ptr<Event>> make_event() override { return std::unique_ptr<Event>(new FakeEvent); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan& plan) override { return cpu_device()->load_kernels(plan); }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    PrepareRequest single = request;
    single.threads = 1;
    if (fail_layer == request.step.layer) return Error("not today");
    return counted(cpu_device()->prepare(single));
  }
  Result<Prepared> prepare_reorder(const TensorSpec& from, const TensorSpec& to, int) override {
    return counted(cpu_device()->prepare_reorder(from, to, 1));
  }
  int allocated = 0;
  std::string fail_layer;

 private:
  DeviceInfo info_;
  int space_;
};

/// fc1 on the host, fc2 in a region, fc3 on device 1, the result on the host.
PlanBuilder mixed_plan() {
  PlanBuilder b;
  const int x = b.input("x", {b.batch(), 6});
  const int w = b.parameter("w", {6, 6}), bias = b.parameter("b", {6});
  const int first = b.linear(x, w, bias, "fc1", {b.batch(), 6}, b.host());
  const int r = b.region("net", b.batch());
  const int part = b.scatter(first, r, 0, {b.chunk(r), 6});
  const int y = b.linear(part, b.replicate(w, r), b.replicate(bias, r), "fc2", {b.chunk(r), 6}, b.in_region(r));
  const int whole = b.gather(y, r, 0, {b.batch(), 6}, b.device(1), "net");
  const int w1 = b.step("transfer", {w}, "w1", {6, 6}, b.device(1)), b1 = b.step("transfer", {bias}, "b1", {6}, b.device(1));
  const int last = b.linear(whole, w1, b1, "fc3", {b.batch(), 6}, b.device(1));
  b.output("y", b.step("transfer", {last}, "y", {b.batch(), 6}, b.host()));
  b.output("net", whole);  // an output that lies on a device
  return b;
}

std::vector<std::vector<float>> run(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t batch) {
  auto session = model.bind(devices, batch);
  if (!session) {
    ADD_FAILURE() << to_string(session.error());
    return {};
  }
  std::vector<float> x(static_cast<size_t>(batch) * 6 + 1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6;
  std::vector<std::vector<float>> outputs(2, std::vector<float>(static_cast<size_t>(batch) * 6 + 1, -7.F));
  const void* in[] = {x.data()};
  void* out[] = {outputs[0].data(), outputs[1].data()};
  for (int i = 0; i < 10; ++i) {
    auto ok = session->run(in, out);
    if (!ok) ADD_FAILURE() << to_string(ok.error());
  }
  return outputs;
}

TEST(SessionFakeDevice, CopiesAndWaitsWhereMemoryIsNotShared) {
  auto model = Model::from_plan(mixed_plan().plan);
  ASSERT_TRUE(model && model->initialise_parameters(2));
  const auto host = std::make_shared<const DeviceSet>(*open_devices({}));
  auto one = std::make_shared<FakeDevice>(1), two = std::make_shared<FakeDevice>(2);
  using Entries = std::vector<std::shared_ptr<Device>>;
  for (const Entries& entries : {Entries{one, two}, Entries{one, one}, Entries{cpu_device(), two}, Entries{two, cpu_device(), one}}) {
    std::vector<std::string> names;
    for (size_t i = 0; i < entries.size(); ++i) names.push_back("fake:" + std::to_string(i));
    const auto devices = std::make_shared<const DeviceSet>(cpu_device(), entries, names, 2);
    for (int64_t batch : {0, 1, 2, 3, 17}) {
      const auto expected = run(*model, host, batch), actual = run(*model, devices, batch);
      for (size_t o = 0; o < 2; ++o) {
        for (size_t i = 0; i < expected[o].size(); ++i) ASSERT_NEAR(actual[o][i], expected[o][i], 2e-4) << batch << " rows";
      }
    }
  }
  model = Error("the model's constants hold the devices' memory, so it goes first");
}

TEST(SessionFakeDevice, FailuresNameTheReplicaAndTheDevice) {
  auto model = Model::from_plan(mixed_plan().plan);
  ASSERT_TRUE(model && model->initialise_parameters(2));
  auto good = std::make_shared<FakeDevice>(1), bad = std::make_shared<FakeDevice>(2);
  bad->fail_layer = "fc2";
  const std::vector<std::shared_ptr<Device>> entries = {good, bad, bad};
  const auto devices = std::make_shared<const DeviceSet>(cpu_device(), entries, std::vector<std::string>{"a:0", "b:0", "b:1"}, 2);
  auto session = model->bind(devices, 9);
  ASSERT_FALSE(session);
  EXPECT_THAT(to_string(session.error()), HasSubstr("replica 1 on device b:0: not today"));
  bad->fail_layer.clear();
  session = model->bind(devices, 9);
  ASSERT_TRUE(session);
  std::vector<float> x(54), y(54), z(54);
  const void* in[] = {x.data()};
  void* out[] = {y.data(), z.data()};
  EXPECT_TRUE(session->run(in, out));
  FakeQueue::failing = true;
  auto ran = session->run(in, out);
  FakeQueue::failing = false;
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message(), HasSubstr("fell off the bus"));
  EXPECT_TRUE(session->run(in, out)) << "and the next run is a fresh one";
  session = Error("sessions go before devices");
  model = Error("models too");
}

}  // namespace
}  // namespace sheaf
