// Files that describe devices, and sizes on the command line: what they may say and what is refused.
#include "runtime/base/byte_size.h"
#include "runtime/base/file.h"
#include "runtime/cost/description.h"
#include "runtime/plan/op_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

class Description : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }
  Result<DeviceDescriptions> read(const std::string& text) {
    EXPECT_TRUE(write_file_atomically(file_, text));
    return read_devices(file_);
  }
  std::string refused(const std::string& text) {
    auto devices = read(text);
    return devices ? "read" : to_string(devices.error());
  }
  std::string file_ = ::testing::TempDir() + "devices-" + std::to_string(::getpid()) + ".json";
};

DeviceDescription& cpu_of(DeviceDescriptions& devices) { return devices.kinds["cpu"]; }

TEST_F(Description, ReadsWhatItWrites) {
  DeviceDescriptions written = guessed_devices();
  cpu_of(written).model = "some \"CPU\"";
  cpu_of(written).cores = 3;
  cpu_of(written).flops_per_second = 1.25e11;
  cpu_of(written).operations = {{Op::conv, 1e11}, {Op::linear, 2e11}};
  cpu_of(written).bf16_flops_per_second = 5e11;
  cpu_of(written).bf16_operations = {{Op::conv, 3e11}};
  cpu_of(written).by_channels = {{Op::conv, {{8, 4e10}, {64, 1e11}}}};
  cpu_of(written).bf16_by_channels = {{Op::conv_backward_data, {{1, 1e10}}}};
  cpu_of(written).fast_by_channels = {{Op::conv, {{"pixels_split", {{64, 2e11}}}, {"winograd", {{8, 4e10}, {64, 3e11}}}}}};
  cpu_of(written).bf16_fast_by_channels = {{Op::conv, {{"winograd", {{64, 6e11}}}}}};
  auto devices = read(devices_text(written));
  ASSERT_TRUE(devices) << to_string(devices.error());
  EXPECT_EQ(devices_text(*devices), devices_text(written));
  EXPECT_EQ(cpu_of(*devices).by_channels, cpu_of(written).by_channels);
  EXPECT_EQ(cpu_of(*devices).bf16_by_channels, cpu_of(written).bf16_by_channels);
  EXPECT_EQ(cpu_of(*devices).fast_by_channels, cpu_of(written).fast_by_channels);
  EXPECT_EQ(cpu_of(*devices).bf16_fast_by_channels, cpu_of(written).bf16_fast_by_channels);
  EXPECT_EQ(cpu_of(*devices).operations, cpu_of(written).operations);
  EXPECT_EQ(cpu_of(*devices).bf16_operations, cpu_of(written).bf16_operations);
  EXPECT_EQ(devices->source, file_);
}

TEST_F(Description, LeavesGuessesWhereItSaysNothing) {
  auto devices = read(R"({"sheaf_devices": "1.0", "cpu": {"bytes_per_second": 5e9}})");
  ASSERT_TRUE(devices) << to_string(devices.error());
  EXPECT_EQ(cpu_of(*devices).bytes_per_second, 5e9);
  DeviceDescriptions guess = guessed_devices();
  EXPECT_EQ(cpu_of(*devices).flops_per_second, cpu_of(guess).flops_per_second);
  EXPECT_GT(devices->kinds["cuda"].flops_per_second, cpu_of(*devices).flops_per_second);
}

TEST_F(Description, GuessesBf16FromF32) {
  auto devices = read(R"({"sheaf_devices": "1.0", "cuda": {"flops_per_second": 1e12}})");
  ASSERT_TRUE(devices) << to_string(devices.error());
  const DeviceDescription guess = guessed_devices().kinds["cuda"];
  EXPECT_GT(guess.bf16_flops_per_second, guess.flops_per_second);
  EXPECT_DOUBLE_EQ(devices->kinds["cuda"].bf16_flops_per_second, 1e12 * guess.bf16_flops_per_second / guess.flops_per_second);
  devices = read(R"({"sheaf_devices": "1.0", "cuda": {"flops_per_second": 1e12, "bf16_flops_per_second": 3e12}})");
  ASSERT_TRUE(devices) << to_string(devices.error());
  EXPECT_EQ(devices->kinds["cuda"].bf16_flops_per_second, 3e12);
}

TEST_F(Description, KnowsAGpuThatIsHereByItsName) {
  DeviceInfo gpu;
  gpu.kind = "cuda";
  gpu.model = "NVIDIA H100 80GB HBM3";
  const DeviceDescriptions guess = guessed_devices();
  EXPECT_EQ(guess.of(gpu).model, gpu.model);
  EXPECT_GT(guess.of(gpu).bytes_per_second, 2.5e12);
  EXPECT_THAT(guess.source_for({&gpu}), HasSubstr(gpu.model));
  auto given = read(R"({"sheaf_devices": "1.0", "cuda": {"bytes_per_second": 1e12}})");
  ASSERT_TRUE(given) << to_string(given.error());
  EXPECT_EQ(given->of(gpu).bytes_per_second, 1e12);
  EXPECT_EQ(given->source_for({&gpu}), given->source);
  gpu.planned = "there is no driver";
  EXPECT_FALSE(guess.of(gpu).known) << "which model is meant, --device-model says";
  gpu.planned.clear();
  gpu.model = "NVIDIA T1000";
  EXPECT_FALSE(guess.of(gpu).known);
  EXPECT_EQ(guess.source_for({&gpu}), guess.source);
}

TEST_F(Description, RefusesWhatItCannotMean) {
  EXPECT_THAT(refused("[]"), HasSubstr("error"));
  EXPECT_THAT(refused("{"), HasSubstr("error"));
  EXPECT_THAT(refused("{}"), HasSubstr("sheaf_devices"));
  EXPECT_THAT(refused(R"({"sheaf_devices": "2.0"})"), HasSubstr("version '2.0' is unknown"));
  EXPECT_THAT(refused(R"({"sheaf_devices": 1})"), HasSubstr("sheaf_devices"));
  EXPECT_THAT(refused(R"({"sheaf_devices": "1.0", "tpu": {}})"), HasSubstr("tpu"));
  EXPECT_THAT(refused(R"({"sheaf_devices": "1.0", "cpu": {"flops": 1}})"), HasSubstr("flops"));
  EXPECT_THAT(refused(R"({"sheaf_devices": "1.0", "cpu": {"cores": 0}})"), HasSubstr("cpu.cores"));
  for (const char* figure : {"0", "-1", "\"fast\"", "null", "[]"}) {
    EXPECT_THAT(refused(std::string(R"({"sheaf_devices": "1.0", "cpu": {"flops_per_second": )") + figure + "}}"),
                HasSubstr("cpu.flops_per_second"));
    EXPECT_THAT(refused(std::string(R"({"sheaf_devices": "1.0", "cpu": {"operations": {"conv": )") + figure + "}}}"),
                HasSubstr("cpu.operations.conv"));
  }
  EXPECT_THAT(refused(R"({"sheaf_devices": "1.0", "cpu": {"operations": []}})"), HasSubstr("operations"));
  const auto by_channels = [&](const std::string& rates) {
    return refused(R"({"sheaf_devices": "1.0", "cpu": {"by_channels": {"conv": )" + rates + "}}}");
  };
  EXPECT_THAT(by_channels("1e11"), HasSubstr("cpu.by_channels.conv"));
  EXPECT_THAT(by_channels("[[8]]"), HasSubstr("must be a number of channels and a rate"));
  EXPECT_THAT(by_channels("[[8, 1e9], [8, 2e9]]"), HasSubstr("must have more channels"));
  EXPECT_THAT(by_channels("[[0, 1e9]]"), HasSubstr("cpu.by_channels.conv[0][0]"));
  EXPECT_THAT(by_channels("[[8, -1]]"), HasSubstr("cpu.by_channels.conv[0][1]"));
  EXPECT_THAT(by_channels("[]"), HasSubstr("must have a pair"));
  const auto fast = [&](const std::string& rates) {
    return refused(R"({"sheaf_devices": "1.0", "cpu": {"fast_by_channels": {"conv": )" + rates + "}}}");
  };
  EXPECT_THAT(fast("[[8, 1e9]]"), HasSubstr("cpu.fast_by_channels.conv"));
  EXPECT_THAT(fast(R"({"winograd": [[8, 0]]})"), HasSubstr("cpu.fast_by_channels.conv.winograd[0][1]"));
  EXPECT_FALSE(read_devices(file_ + ".gone"));
}

TEST(Memory, SizesHaveUnits) {
  const auto size = [](const char* text) {
    auto parsed = parse_byte_size(text, "--memory");
    return parsed ? *parsed : -1;
  };
  EXPECT_EQ(size("80GiB"), 80.0 * (int64_t{1} << 30));
  EXPECT_EQ(size("16e9"), 16e9);
  EXPECT_EQ(size("512 MB"), 512e6);
  EXPECT_EQ(size("1.5KiB"), 1536);
  EXPECT_EQ(size("64B"), 64);
  for (const char* wrong :
       {"", "0", "-1", "GiB", "80 GiBs", "80GB ", "nan", "inf", "1e999", "0x10", "12 34", "many", "80gib", "1,5GiB"}) {
    EXPECT_EQ(size(wrong), -1) << wrong;
  }
}

}  // namespace
}  // namespace sheaf
