// A step allocates nothing: counts every operator new and malloc of the process over many runs.
#include "tests/fixtures/training_plan.h"

#include "sheaf/trace.h"
#include "sheaf/trainer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};

void count() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !(defined(__has_feature) && (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer)))
#define SHEAF_COUNTS_MALLOC 1
// glibc's own names behind malloc and its kin, so that every allocation, by whatever library, passes here.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
__attribute__((visibility("default"))) void* malloc(size_t size) {
  count();
  return __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(size_t items, size_t size) {
  count();
  return __libc_calloc(items, size);
}
__attribute__((visibility("default"))) void* realloc(void* memory, size_t size) {
  count();
  return __libc_realloc(memory, size);
}
__attribute__((visibility("default"))) void* memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, size_t alignment, size_t size) {
  count();
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : 12;
}
}
#endif

namespace sheaf {
namespace {

#ifdef SHEAF_COUNTS_MALLOC
int64_t allocations_of_runs(const char* devices, int64_t batch, bool move_buffers, std::shared_ptr<Trace> trace = nullptr) {
  PlanBuilder builder = data_parallel_linear(5, 2, PlanBuilder::device(0), {}, true);
  auto model = Model::from_plan(std::move(builder.plan));
  EXPECT_TRUE(model && model->initialise_parameters(1));
  auto session = model->bind(devices, batch);
  if (!session) {
    ADD_FAILURE() << to_string(session.error());
    return -1;
  }
  std::vector<float> x(static_cast<size_t>(batch) * 5 + 16, 0.5F), y(static_cast<size_t>(batch) * 2 + 16);
  std::atomic<int> lines{0};
  RunOptions options;
  options.print = [&](std::string_view) { ++lines; };
  options.trace = std::move(trace);
  for (int i = 0; i < 1010; ++i) {
    if (i == 10) {  // the first runs may start a library's threads
      allocations = 0;
      counting = true;
    }
    const void* in[] = {x.data() + (move_buffers ? i % 16 : 0)};
    void* out[] = {y.data() + (move_buffers ? i % 16 : 0)};
    if (!session->run(in, out, options)) ADD_FAILURE();
  }
  counting = false;
  EXPECT_GE(lines, 1010);
  return allocations;
}

TEST(LaneAllocation, TheCounterCounts) {
  allocations = 0;
  counting = true;
  std::vector<int>* volatile kept = new std::vector<int>(5);
  void* volatile raw = std::malloc(7);
  counting = false;
  delete kept;
  std::free(raw);
  EXPECT_GE(allocations, 3);
}

TEST(LaneAllocation, RunsAllocateNothing) {
  for (const char* devices : {"cpu", "cpu:0", "cpu:0,cpu:1", "cpu:0,cpu:0,cpu:0"}) {
    for (bool move : {false, true}) EXPECT_EQ(allocations_of_runs(devices, 30, move), 0) << devices;
  }
}

TEST(LaneAllocation, TracedRunsAllocateNothing) {
  for (const char* devices : {"cpu", "cpu:0,cpu:1"}) {
    const auto trace = std::make_shared<Trace>(1000);  // fewer operations than steps make: slots are reused
    EXPECT_EQ(allocations_of_runs(devices, 30, false, trace), 0) << devices;
    EXPECT_EQ(trace->steps(), 1010);
  }
}

TEST(LaneAllocation, TrainingStepsAllocateNothing) {
  for (int devices : {0, 1, 2, 3}) {
    TrainingPlan made;
    made.b.plan.training["schedule"] = {{"type", "MultiStepLR"}, {"milestones", {1, 2}}, {"gamma", 0.5}};
    auto model = Model::from_plan(std::move(made.b.plan));
    ASSERT_TRUE(model && model->initialise_parameters(1));
    auto trainer = Trainer::bind(*model, training_devices(devices), 6);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    trainer->progress().lr = 0.001;
    const std::vector<float> x(40, 0.5F), t(40, 1);
    for (int i = 0; i < 1010; ++i) {
      if (i == 10) {
        allocations = 0;
        counting = true;
      }
      const void* buffers[] = {x.data() + i % 16, t.data() + i % 16};
      auto loss = trainer->step(buffers);
      if (!loss) ADD_FAILURE();
    }
    counting = false;
    EXPECT_EQ(allocations, 0) << devices << " devices";
  }
}
#else
TEST(LaneAllocation, RunsAllocateNothing) { GTEST_SKIP() << "a sanitizer has its own malloc"; }
#endif

}  // namespace
}  // namespace sheaf
