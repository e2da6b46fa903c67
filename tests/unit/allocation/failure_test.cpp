// Each operator new of the C++ interface fails in turn: the result is an Error, and afterwards the same calls succeed. If a
// destructor of nlohmann's JSON runs out of memory, the only possible result is std::terminate, in which the programs print a
// message and end with status 1 (tools/cli/program.cpp): that end, and no other, is allowed too.
#include "runtime/base/file.h"
#include "runtime/plan/serialize.h"
#include "tests/fixtures/training_device.h"
#include "tests/fixtures/training_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <sys/wait.h>
#include <unistd.h>

namespace {
std::atomic<int64_t> before_failure{-1};  ///< allocations that still succeed; below 0: all
std::atomic<bool> failed{false};

void* allocate(size_t size, size_t alignment) {
  for (int64_t left = before_failure; left >= 0;) {
    if (left == 0) {
      failed = true;
      before_failure = -1;
      throw std::bad_alloc();
    }
    if (before_failure.compare_exchange_weak(left, left - 1)) break;
  }
  void* const memory = alignment > alignof(std::max_align_t)
                           ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
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

enum Ending { succeeded, failed_well, terminated, not_reached, wrong };

[[noreturn]] void end() {
  before_failure = -1;
  bool memory = false;
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    memory = true;
  } catch (...) {
  }
  std::_Exit(memory ? terminated : wrong);
}

/// In a process of its own, since it may end there: `make()` returns a function that is called with allocation `n` failing. It
/// must not copy errors, which takes memory.
template <typename Make>
Ending with_failure(Make make, int64_t n) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::set_terminate(end);
    auto use = make();
    before_failure = n;
    Result<void> done = use();
    before_failure = -1;
    if (!failed) std::_Exit(done ? not_reached : wrong);
    if (!done && to_string(done.error()).find("error: ") == std::string::npos) std::_Exit(wrong);
    const bool again = static_cast<bool>(use());
    std::_Exit(!again ? wrong : done ? succeeded : failed_well);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return wrong;
  return static_cast<Ending>(WEXITSTATUS(status));
}

template <typename Make>
void fail_each(Make make) {
  int counts[5] = {};
  // Each of the first, then ever fewer: late ones are many and alike.
  for (int64_t n = 0; counts[not_reached] == 0; n += 1 + n / 8) {
    const Ending ending = with_failure(make, n);
    ASSERT_NE(ending, wrong) << "allocation " << n;
    ++counts[ending];
  }
  EXPECT_GT(counts[failed_well], 10) << "the test shows something";
}

TEST(AllocationFailure, LoadingBindingAndRunning) {
  std::string file = (std::filesystem::temp_directory_path() / "sheaf-allocation-XXXXXX").string();
  const int descriptor = ::mkstemp(file.data());
  ASSERT_GE(descriptor, 0);
  ::close(descriptor);
  ASSERT_TRUE(write_file_atomically(file, serialize(data_parallel_linear(5, 2, PlanBuilder::device(0)).plan)));
  std::vector<float> x(30 * 5, 0.5F), y(30 * 2);
  for (const char* devices : {"cpu", "cpu:0", "cpu:0,cpu:1"}) {
    SCOPED_TRACE(devices);
    fail_each([&] {
      return [&]() -> Result<void> {
        auto model = Model::load(file);
        if (!model) return std::move(model.error());
        if (auto ok = model->initialise_parameters(1); !ok) return ok;
        auto session = model->bind(devices, 30);
        if (!session) return std::move(session.error());
        const void* in[] = {x.data()};
        void* out[] = {y.data()};
        if (auto ok = session->run(in, out); !ok) return ok;
        return model->read_parameter(0, std::as_writable_bytes(std::span(y).first(10)));
      };
    });
  }
  std::filesystem::remove(file);
}

TEST(AllocationFailure, Training) {
  const TrainingBatch batch(6);
  const auto buffers = batch.buffers();
  for (const int devices : {1, 2}) {
    fail_each([&] {
      return [&, model = training_model(), opened = training_devices(devices)]() -> Result<void> {
        auto trainer = Trainer::bind(model, opened, 6);
        if (!trainer) return std::move(trainer.error());
        auto loss = trainer->step(buffers);
        if (!loss) return std::move(loss.error());
        float state[3];
        return trainer->read_state(0, std::as_writable_bytes(std::span(state)));
      };
    });
  }
}

}  // namespace
}  // namespace sheaf
