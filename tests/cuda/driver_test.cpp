// The files that open NVIDIA's libraries, run with a stand-in driver (tests/cuda/stand_in), and their names compared with the
// toolkit's own.
#include "runtime/cuda/installation_text.h"
#include "runtime/cuda/vendor/driver.h"
#include "runtime/cuda/vendor/driver_functions.h"
#include "runtime/device/device.h"
#include "runtime/session/open_devices.h"
#include "tests/cuda/stand_in/driver_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sheaf::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SharedLibrary, ErrorsNameTheLibraryAndTheSymbol) {
  auto none = SharedLibrary::open("Something", {"libsomething-of-nobody.so.1", "libsomething-of-nobody.so.0"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), AllOf(HasSubstr("Something"), HasSubstr("libsomething-of-nobody.so.1")));

  auto library = SharedLibrary::open("The C library", {"libnothing-of-nobody.so.1", "libc.so.6"});
  ASSERT_TRUE(library);
  EXPECT_EQ(library->name(), "libc.so.6");
  EXPECT_THAT(library->path(), HasSubstr("libc"));
  size_t (*length)(const char*) = nullptr;
  int (*absent)() = nullptr;
  ASSERT_TRUE(Symbols(*library).require("strlen", length).optional("no_such_function", absent).result());
  EXPECT_EQ(length("four"), 4U);
  auto missing =
      Symbols(*library).require("strlen", length).require("no_such_function", absent).require("nor_this", absent).result();
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(),
              AllOf(HasSubstr("The C library"), HasSubstr("libc.so.6"), HasSubstr("no_such_function")));
}

/// pip has a folder for each package.
TEST(SharedLibrary, IsFoundWherePipPutsItAndFirstWhereTheUserSays) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / ("sheaf-pip-" + std::to_string(getpid()));
  const fs::path pip = root / "env/lib/python3.12/site-packages/nvidia/pretended/lib", named = root / "named";
  const char* name = "libpretended-by-pip.so.1";
  for (const fs::path& folder : {pip, named}) {
    fs::create_directories(folder);
    fs::copy_file(SHEAF_STAND_IN_DRIVER, folder / name);
  }
  EXPECT_FALSE(SharedLibrary::open("Pretended", {name}));
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    setenv(variable, (root / "env").c_str(), 1);
    auto found = SharedLibrary::open("Pretended", {name});
    ASSERT_TRUE(found) << to_string(found.error());
    EXPECT_EQ(found->path(), (pip / name).string());
    unsetenv(variable);
  }
  setenv("SHEAF_CUDA_LIBRARIES", ("/nowhere:" + named.string()).c_str(), 1);
  auto found = SharedLibrary::open("Pretended", {name});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path(), (named / name).string());
  unsetenv("SHEAF_CUDA_LIBRARIES");
  fs::remove_all(root);
}

/// The toolkit's stub of the driver has all names that a driver has; it is read, not loaded, since it would replace the driver.
TEST(DriverFunctions, AllAreInTheToolkitsList) {
  std::ifstream file(SHEAF_CUDA_STUB, std::ios::binary);
  if (!file) GTEST_SKIP() << "the toolkit has no stub of the driver: " SHEAF_CUDA_STUB;
  const std::string stub((std::istreambuf_iterator<char>(file)), {});
  const auto has = [&](const std::string& name) { return stub.find('\0' + name + '\0') != stub.npos; };
  size_t count = 0;
#define SHEAF_TEXT(name) #name
#define SHEAF_LOOK(name) \
  ++count;               \
  EXPECT_TRUE(has(SHEAF_TEXT(name))) << SHEAF_TEXT(name);
  SHEAF_DRIVER_FUNCTIONS(SHEAF_LOOK)
#undef SHEAF_LOOK
#undef SHEAF_TEXT
  EXPECT_GT(count, 40U);
  EXPECT_FALSE(has("cuMemAllocate"));
}

class StandIn : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_nvidia_driver();
    ASSERT_TRUE(opened) << to_string(opened.error());
    driver = std::move(*opened);
  }
  void TearDown() override { EXPECT_THAT(stand_in::take_faults(), IsEmpty()); }
  std::unique_ptr<Driver> driver;
};

TEST_F(StandIn, PropertiesAreRead) {
  ASSERT_EQ(driver->devices(), 2);
  const DeviceProperties& properties = driver->properties(0);
  EXPECT_EQ(properties.name, "Stand-in GPU");
  EXPECT_EQ(properties.pci_bus_id, "0000:3b:00.0");
  EXPECT_EQ(properties.major * 10 + properties.minor, 90);
  EXPECT_EQ(properties.multiprocessors, 132);
  EXPECT_EQ(properties.memory_bytes, int64_t{64} << 20);
}

TEST_F(StandIn, MemoryComesGoesAndEnds) {
  auto before = driver->memory(0);
  auto memory = driver->allocate(0, 1000);
  ASSERT_TRUE(before && memory);
  EXPECT_EQ(driver->memory(0)->free_bytes, before->free_bytes - 1000);
  driver->release(0, *memory);
  EXPECT_EQ(driver->memory(0)->free_bytes, before->free_bytes);
  auto none = driver->allocate(0, size_t{65} << 20);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(), "cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
  auto pinned = driver->allocate_pinned(100);
  ASSERT_TRUE(pinned);
  int on_stack = 0;
  EXPECT_TRUE(driver->is_pinned(*pinned));
  EXPECT_FALSE(driver->is_pinned(&on_stack));
  driver->release_pinned(*pinned);
}

TEST_F(StandIn, CopiesOfEveryKind) {
  auto stream = driver->make_stream(0);
  auto host = driver->allocate_pinned(64), back = driver->allocate_pinned(64);
  auto one = driver->allocate(0, 64), two = driver->allocate(0, 64);
  ASSERT_TRUE(stream && host && back && one && two);
  auto* bytes = static_cast<unsigned char*>(*host);
  auto* result = static_cast<unsigned char*>(*back);
  for (unsigned char i = 0; i < 64; ++i) bytes[i] = i;
  ASSERT_TRUE(driver->copy(*stream, *one, 0, bytes, kHost, {64, 1, 64, 64}));
  ASSERT_TRUE(driver->fill(*stream, *two, 255, 64));
  ASSERT_TRUE(driver->copy(*stream, *two, 0, *one, 0, {4, 4, 16, 8}));  // 4 of each 16 to each 8
  ASSERT_TRUE(driver->copy(*stream, result, kHost, *two, 0, {64, 1, 64, 64}));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(result[i], i < 32 && i % 8 < 4 ? i / 8 * 16 + i % 8 : 255) << i;
  ASSERT_TRUE(driver->copy(*stream, result, kHost, *one, 0, {4, 3, 16, 4}));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(result[i], i / 4 * 16 + i % 4);
  ASSERT_TRUE(driver->copy(*stream, *one, 0, bytes + 1, kHost, {1, 2, 1, 32}));
  ASSERT_TRUE(driver->copy(*stream, result, kHost, *one, 0, {64, 1, 64, 64}));
  EXPECT_EQ(result[0], 1);
  EXPECT_EQ(result[32], 2);
  EXPECT_TRUE(driver->copy(*stream, result, kHost, *one, 0, {0, 1, 0, 0}));
  EXPECT_FALSE(driver->copy(*stream, *one, 0, result, 0, {64, 1, 64, 64})) << "host memory is no GPU's";
  driver->destroy(*stream);
  for (void* memory : {*one, *two}) driver->release(0, memory);
  for (void* memory : {*host, *back}) driver->release_pinned(memory);
}

TEST_F(StandIn, StreamsEventsModulesGraphs) {
  auto stream = driver->make_stream(0);
  auto event = driver->make_event(0);
  auto module = driver->load(0, ".version 7.0");
  ASSERT_TRUE(stream && event && module);
  auto function = driver->function(0, *module, "kernel");
  ASSERT_TRUE(function);
  auto missing = driver->function(0, *module, "nowhere");
  ASSERT_FALSE(missing);
  EXPECT_THAT(to_string(missing.error()), HasSubstr("nowhere"));
  auto refused = driver->load(0, "not PTX");
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), AllOf(HasSubstr("CUDA_ERROR_INVALID_PTX"), HasSubstr("line 1: no .version")));
  Launch launch;
  launch.function = *function;
  launch.block = 128;
  EXPECT_TRUE(driver->launch(*stream, launch));
  ASSERT_TRUE(driver->properties(0).launches_together);
  Launch together = launch;
  together.together = true;
  together.grid[0] = 264;
  EXPECT_TRUE(driver->launch(*stream, together));
  together.grid[0] = 265;
  const auto too_many = driver->launch(*stream, together);
  ASSERT_FALSE(too_many);
  EXPECT_THAT(to_string(too_many.error()), HasSubstr("cuLaunchCooperativeKernel"));
  EXPECT_TRUE(driver->record(*event, *stream));
  EXPECT_TRUE(driver->wait(*stream, *event));
  EXPECT_TRUE(*driver->done(*event));
  EXPECT_TRUE(*driver->done(*stream));
  auto timed = driver->make_event(0, true), later = driver->make_event(0, true);
  ASSERT_TRUE(timed && later);
  EXPECT_TRUE(driver->record(*timed, *stream));
  while (!*driver->done(*timed)) continue;
  stand_in::clock_of(0) += std::chrono::milliseconds(2);
  EXPECT_TRUE(driver->record(*later, *stream));
  while (!*driver->done(*later)) continue;
  auto elapsed = driver->elapsed(*timed, *later);
  ASSERT_TRUE(elapsed) << to_string(elapsed.error());
  EXPECT_NEAR(*elapsed, 2e-3, 1e-9);
  auto untimed = driver->elapsed(*timed, *event);
  ASSERT_FALSE(untimed);
  EXPECT_THAT(to_string(untimed.error()), HasSubstr("cuEventElapsedTime"));
  driver->destroy(*timed);
  driver->destroy(*later);
  ASSERT_TRUE(driver->begin_capture(*stream));
  EXPECT_TRUE(driver->launch(*stream, launch));
  auto graph = driver->end_capture(*stream);
  ASSERT_TRUE(graph);
  EXPECT_TRUE(driver->launch(*stream, *graph));
  EXPECT_FALSE(driver->end_capture(*stream));
  // A call that a capture doesn't allow spoils it; the stream itself goes on.
  ASSERT_TRUE(driver->begin_capture(*stream));
  EXPECT_FALSE(driver->done(*stream));
  auto spoilt = driver->end_capture(*stream);
  ASSERT_FALSE(spoilt);
  EXPECT_THAT(to_string(spoilt.error()), HasSubstr("cuStreamEndCapture"));
  EXPECT_TRUE(driver->launch(*stream, launch));
  EXPECT_TRUE(*driver->done(*stream));
  driver->destroy(*graph);
  driver->destroy(*event);
  driver->unload(0, *module);
  driver->destroy(*stream);
}

/// By its text, the kind of GPU and the driver. What doesn't load is compiled anew, and replaces it.
TEST_F(StandIn, MachineCodeIsKept) {
  const std::string folder = ::testing::TempDir() + "machine-code-" + std::to_string(::getpid());
  const char* before = std::getenv("SHEAF_CACHE");
  const std::string cache = before ? before : "";
  setenv("SHEAF_CACHE", folder.c_str(), 1);
  const auto compilations = [&](int device, const char* ptx) {
    stand_in::take_compilations();
    auto module = driver->load(device, ptx);
    EXPECT_TRUE(module) << to_string(module.error());
    if (module) driver->unload(device, *module);
    return stand_in::take_compilations();
  };
  EXPECT_EQ(compilations(0, ".version 7.0 a"), 1);
  EXPECT_EQ(compilations(0, ".version 7.0 a"), 0);
  EXPECT_EQ(compilations(1, ".version 7.0 a"), 0) << "a GPU of the same kind";
  EXPECT_EQ(compilations(0, ".version 7.0 b"), 1);
  setenv("STAND_IN_GENERATION", "sm_90 of another make", 1);
  EXPECT_EQ(compilations(0, ".version 7.0 a"), 1) << "the GPU doesn't take it";
  EXPECT_EQ(compilations(0, ".version 7.0 a"), 0);
  unsetenv("STAND_IN_GENERATION");
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.is_regular_file()) std::filesystem::resize_file(file.path(), file.file_size() - 1);
  EXPECT_EQ(compilations(0, ".version 7.0 b"), 1) << "cut off";
  EXPECT_EQ(compilations(0, ".version 7.0 b"), 0);
  EXPECT_FALSE(driver->load(0, "not PTX")) << "nothing is kept of it";
  EXPECT_FALSE(driver->load(0, "not PTX"));
  std::filesystem::remove_all(folder);
  std::ofstream(folder) << "a file";  // where a folder should be
  EXPECT_EQ(compilations(0, ".version 7.0 a"), 1);
  EXPECT_EQ(compilations(0, ".version 7.0 a"), 1);
  std::filesystem::remove_all(folder);
  if (before) setenv("SHEAF_CACHE", cache.c_str(), 1);
  else unsetenv("SHEAF_CACHE");
}

/// What a context's objects are used with belongs to it.
TEST_F(StandIn, ObjectsBelongToTheirDevice) {
  auto here = driver->make_stream(0), there = driver->make_stream(1);
  auto event = driver->make_event(0);
  auto module = driver->load(0, ".version 7.0");
  ASSERT_TRUE(here && there && event && module);
  Launch launch;
  launch.function = *driver->function(0, *module, "kernel");
  EXPECT_TRUE(driver->launch(*here, launch));
  EXPECT_FALSE(driver->launch(*there, launch));
  EXPECT_FALSE(driver->function(1, *module, "kernel"));
  EXPECT_FALSE(driver->record(*event, *there));
  EXPECT_TRUE(driver->record(*event, *here));
  EXPECT_TRUE(driver->wait(*there, *event)) << "streams of other devices may wait for it";
  ASSERT_TRUE(driver->begin_capture(*here));
  EXPECT_TRUE(driver->launch(*here, launch));
  auto graph = driver->end_capture(*here);
  ASSERT_TRUE(graph);
  EXPECT_FALSE(driver->launch(*there, *graph));
  driver->destroy(*graph);
  driver->destroy(*event);
  driver->unload(0, *module);
  driver->destroy(*here);
  driver->destroy(*there);
  EXPECT_THAT(stand_in::live(), IsEmpty());
}

/// Its work only runs where it is launched.
TEST_F(StandIn, AGraphRunsWhenItIsLaunched) {
  auto stream = driver->make_stream(0);
  auto memory = driver->allocate(0, 4), host = driver->allocate_pinned(4);
  ASSERT_TRUE(stream && memory && host);
  auto* const byte = static_cast<unsigned char*>(*host);
  ASSERT_TRUE(driver->fill(*stream, *memory, 1, 4));
  ASSERT_TRUE(driver->begin_capture(*stream));
  ASSERT_TRUE(driver->fill(*stream, *memory, 2, 4));
  ASSERT_TRUE(driver->copy(*stream, byte, kHost, *memory, 0, {1, 1, 1, 1}));
  auto graph = driver->end_capture(*stream);
  ASSERT_TRUE(graph);
  ASSERT_TRUE(driver->copy(*stream, byte, kHost, *memory, 0, {1, 1, 1, 1}));
  EXPECT_EQ(*byte, 1);
  ASSERT_TRUE(driver->launch(*stream, *graph));
  EXPECT_EQ(*byte, 2);
  // Memory that a thread allocates while it captures ends the capture.
  ASSERT_TRUE(driver->begin_capture(*stream));
  EXPECT_FALSE(driver->allocate(0, 4));
  EXPECT_FALSE(driver->end_capture(*stream));
  driver->destroy(*graph);
  driver->destroy(*stream);
  driver->release(0, *memory);
  driver->release_pinned(*host);
}

TEST_F(StandIn, CopiesBetweenDevices) {
  auto stream = driver->make_stream(0);
  auto host = driver->allocate_pinned(64);
  auto one = driver->allocate(0, 64), two = driver->allocate(1, 64);
  ASSERT_TRUE(stream && host && one && two);
  auto* bytes = static_cast<unsigned char*>(*host);
  for (unsigned char i = 0; i < 64; ++i) bytes[i] = i;
  ASSERT_TRUE(driver->copy(*stream, *one, 0, bytes, kHost, {64, 1, 64, 64}));
  ASSERT_TRUE(driver->copy(*stream, *two, 1, *one, 0, {64, 1, 64, 64}));
  ASSERT_TRUE(driver->fill(*stream, *one, 255, 64));
  ASSERT_TRUE(driver->copy(*stream, *one, 0, *two, 1, {4, 4, 16, 8}));
  ASSERT_TRUE(driver->copy(*stream, bytes, kHost, *one, 0, {64, 1, 64, 64}));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(bytes[i], i < 32 && i % 8 < 4 ? i / 8 * 16 + i % 8 : 255) << i;
  EXPECT_FALSE(driver->fill(*stream, *two, 0, 64)) << "its peer's memory, not enabled";
  EXPECT_TRUE(*driver->enable_peer(0, 1));
  EXPECT_TRUE(*driver->enable_peer(0, 1)) << "again";
  EXPECT_TRUE(driver->fill(*stream, *two, 0, 64));
  EXPECT_FALSE(driver->copy(*stream, *two, 0, *one, 0, {64, 1, 64, 64})) << "not memory of the device that is named";
  driver->destroy(*stream);
  driver->release(0, *one);
  driver->release(1, *two);
  driver->release_pinned(*host);
}

TEST(StandInDevice, IsOpenedByItsName) {
  auto device = open_device(parse_devices("cuda:0")->front());
  ASSERT_TRUE(device) << to_string(device.error());
  EXPECT_EQ((*device)->info().isa, "sm_90");
  EXPECT_NE((*device)->call_log(), nullptr);
  auto beyond = open_device(parse_devices("cuda:2")->front());
  ASSERT_FALSE(beyond);
  EXPECT_THAT(to_string(beyond.error()), AllOf(HasSubstr("cuda:2"), HasSubstr("cuda:0")));
}

TEST(StandInDevice, CopiesThroughItsDriver) {
  auto device = open_device(parse_devices("cuda:0")->front());
  ASSERT_TRUE(device);
  auto queue = (*device)->open_queue(1);
  ASSERT_TRUE(queue) << to_string(queue.error());
  for (const size_t count : {size_t{10}, size_t{3} << 20}) {
    std::vector<int> values(count), got(count, -1);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i);
    auto memory = (*device)->allocate(count * sizeof(int));
    ASSERT_TRUE(memory);
    (*queue)->begin_run();
    (*queue)->copy(*memory, values.data(), {count * sizeof(int), 1, 0, 0});
    (*queue)->copy(got.data(), *memory, {count * sizeof(int), 1, 0, 0});
    auto done = (*queue)->synchronize();
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(got, values);
    (*device)->release(*memory);
  }
  auto much = (*device)->allocate(size_t{64} << 20);
  ASSERT_FALSE(much);
  EXPECT_THAT(to_string(much.error()), AllOf(HasSubstr("out of memory"), HasSubstr("were asked for on cuda:0")));
}

/// Values by the first device's queue to the second device, and from there back by the second's.
void copy_to_peer_and_back(bool reached) {
  auto one = open_device(parse_devices("cuda:0")->front()), two = open_device(parse_devices("cuda:1")->front());
  ASSERT_TRUE(one && two);
  auto queue = (*one)->open_queue(1), other = (*two)->open_queue(1);
  ASSERT_TRUE(queue && other);
  EXPECT_EQ(stand_in::reaches(0, 1) && stand_in::reaches(1, 0), reached) << "before anything runs";
  std::vector<int> values(1000), got(1000, -1);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  const CopyShape all{values.size() * sizeof(int), 1, 0, 0};
  auto here = (*one)->allocate(all.row_bytes), there = (*two)->allocate(all.row_bytes);
  ASSERT_TRUE(here && there);
  (*queue)->begin_run();
  (*queue)->copy(*here, values.data(), all);
  (*queue)->copy(*there, *here, all);
  ASSERT_TRUE((*queue)->synchronize());
  (*other)->begin_run();
  (*other)->copy(got.data(), *there, all);
  auto done = (*other)->synchronize();
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(got, values);
  (*one)->release(*here);
  (*two)->release(*there);
  EXPECT_THAT(stand_in::take_faults(), IsEmpty());
}

TEST(StandInDevice, CopiesToItsPeer) { copy_to_peer_and_back(true); }

/// A process asks its driver once who reaches whom.
TEST(StandInDevice, CopiesToOneThatItDoesNotReach) {
  if (stand_in::reaches(0, 1)) GTEST_SKIP() << "another test of this process let them";
  setenv("STAND_IN_NO_PEERS", "1", 1);
  copy_to_peer_and_back(false);
  unsetenv("STAND_IN_NO_PEERS");
}

TEST(StandInDevice, IsListed) {
  const Installation found = look_at_installation();
  ASSERT_EQ(found.gpus.size(), 2U);
  EXPECT_EQ(found.cuda_version, "13.0");
  EXPECT_THAT(to_text(found, {}), AllOf(HasSubstr("cuda:0  Stand-in GPU, sm_90, 132 multiprocessors, 0.1 GiB"),
                                        HasSubstr("0000:3b:00.0"), HasSubstr("cuDNN"), HasSubstr("NCCL")));
}

}  // namespace
}  // namespace sheaf::cuda
