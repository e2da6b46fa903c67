// Each operator new of the C++ interface fails in turn, alone or with all that follow: an Error comes of it, nothing is
// thrown, and afterwards the same calls succeed.
#include "runtime/base/file.h"
#include "runtime/plan/serialize.h"
#include "tests/unit/runtime/training_device.h"
#include "tests/unit/runtime/training_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <unistd.h>

namespace {
std::atomic<int64_t> before_failure{-1};  ///< allocations that still succeed; below 0: all
std::atomic<bool> fails_on{false};        ///< all that follow fail, too
std::atomic<bool> failed{false};

void* allocate(size_t size, size_t alignment) {
  for (int64_t left = before_failure; left >= 0;) {
    if (left == 0) {
      failed = true;
      if (!fails_on) before_failure = -1;
      throw std::bad_alloc();
    }
    if (before_failure.compare_exchange_weak(left, left - 1)) break;
  }
  void* const memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                                                             : std::malloc(size == 0 ? 1 : size);
  if (!memory) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(size_t size) { return allocate(size, 0); }
void* operator new[](size_t size) { return allocate(size, 0); }
void* operator new(size_t size, std::align_val_t alignment) { return allocate(size, static_cast<size_t>(alignment)); }
void* operator new[](size_t size, std::align_val_t alignment) { return allocate(size, static_cast<size_t>(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace sheaf {
namespace {

/// Runs `use` again and again, each time with a later allocation failing, until none does.
template <typename Use>
void fail_each(Use use) {
  for (const bool all_that_follow : {false, true}) {
    int failures = 0;
    // Each of the first, then ever fewer: late ones are many and alike.
    for (int64_t n = 0;; n += 1 + n / 25) {
      fails_on = all_that_follow;
      failed = false;
      before_failure = n;
      Result<void> done = use();
      before_failure = -1;
      if (!failed) {
        EXPECT_TRUE(done) << to_string(done.error());
        break;
      }
      if (!done) {
        ++failures;
        EXPECT_NE(to_string(done.error()).find("error: "), std::string::npos);
      }
      ASSERT_TRUE(use()) << "after the failure of allocation " << n;
    }
    EXPECT_GT(failures, 20) << "the test shows something";
  }
}

TEST(AllocationFailure, LoadingBindingAndRunning) {
  std::string file = (std::filesystem::temp_directory_path() / "sheaf-allocation-XXXXXX").string();
  const int descriptor = ::mkstemp(file.data());
  ASSERT_GE(descriptor, 0);
  ::close(descriptor);
  ASSERT_TRUE(write_file_atomically(file, serialize(data_parallel_linear(5, 2, PlanBuilder::device(0)).plan)));
  std::vector<float> x(30 * 5, 0.5F), y(30 * 2);
  const std::vector<float> weight(10, 1), bias(2, 1);
  for (const char* devices : {"cpu", "cpu:0", "cpu:0,cpu:1"}) {
    SCOPED_TRACE(devices);
    fail_each([&]() -> Result<void> {
      auto model = Model::load(file);
      if (!model) return model.error();
      if (auto ok = model->initialise_parameters(1); !ok) return ok;
      auto session = model->bind(devices, 30);
      if (!session) return session.error();
      const void* in[] = {x.data()};
      void* out[] = {y.data()};
      if (auto ok = session->run(in, out); !ok) return ok;
      return model->read_parameter(0, y.data());
    });
  }
  std::filesystem::remove(file);
}

TEST(AllocationFailure, Training) {
  const Model model = training_model();
  const TrainingBatch batch(6);
  const auto buffers = batch.buffers();
  for (const int devices : {1, 2}) {
    const auto opened = training_devices(devices);
    fail_each([&]() -> Result<void> {
      auto trainer = Trainer::bind(model, opened, 6, nullptr);
      if (!trainer) return trainer.error();
      auto loss = trainer->step(buffers);
      if (!loss) return loss.error();
      float state[3];
      return trainer->read_state(0, state);
    });
  }
}

}  // namespace
}  // namespace sheaf
