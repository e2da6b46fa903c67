// The output of `sheaf devices` on machines with and without GPUs.
#include "runtime/cuda/installation_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Installation two_gpus() {
  Installation found;
  found.driver_version = "580.65.06";
  found.cuda_version = "13.0";
  for (const char* id : {"0000:3b:00.0", "0000:5e:00.0"}) {
    Installation::Gpu gpu;
    gpu.properties.name = "NVIDIA H200";
    gpu.properties.pci_bus_id = id;
    gpu.properties.major = 9;
    gpu.properties.multiprocessors = 132;
    gpu.properties.memory_bytes = int64_t{140} << 30;
    found.gpus.push_back(gpu);
  }
  found.gpus[1].used_bytes = int64_t{3} << 30;
  found.libraries = {{"cuDNN", "9.19.0", "/usr/lib/libcudnn.so.9", ""}, {"NCCL", "", "", "NCCL cannot be opened: not there"}};
  return found;
}

TEST(InstallationText, NamesGpusLibrariesAndVariables) {
  EXPECT_EQ(to_text(two_gpus(), {{"CUDA_VISIBLE_DEVICES", "3,5"}}),
            "cuda  cuda:0  NVIDIA H200, sm_90, 132 multiprocessors, 140.0 GiB, 0000:3b:00.0\n"
            "      cuda:1  NVIDIA H200, sm_90, 132 multiprocessors, 140.0 GiB, 3.0 GiB in use, 0000:5e:00.0\n"
            "      driver 580.65.06, for CUDA up to 13.0\n"
            "      cuDNN 9.19.0 (/usr/lib/libcudnn.so.9)\n"
            "      NCCL: NCCL cannot be opened: not there\n"
            "      CUDA_VISIBLE_DEVICES=3,5\n");
}

TEST(InstallationText, SaysWhyThereIsNone) {
  Installation none;
  none.problem = "NVIDIA's driver cannot be opened";
  EXPECT_EQ(to_text(none, {}), "cuda  none: NVIDIA's driver cannot be opened\n");
  const Json json = to_json(none, {});
  EXPECT_EQ(json["available"], false);
  EXPECT_EQ(json["reason"], none.problem);
  EXPECT_TRUE(json["devices"].empty());
  EXPECT_TRUE(json["driver_version"].is_null());
}

TEST(InstallationText, JsonHasWhatThereIs) {
  const Json json = to_json(two_gpus(), {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}});
  EXPECT_EQ(json["available"], true);
  EXPECT_TRUE(json["reason"].is_null());
  ASSERT_EQ(json["devices"].size(), 2U);
  EXPECT_EQ(json["devices"][1]["name"], "cuda:1");
  EXPECT_EQ(json["devices"][1]["isa"], "sm_90");
  EXPECT_EQ(json["devices"][1]["memory_used_bytes"], int64_t{3} << 30);
  EXPECT_TRUE(json["devices"][0]["memory_used_bytes"].is_null());
  EXPECT_EQ(json["libraries"][0]["version"], "9.19.0");
  EXPECT_THAT(json["libraries"][1]["problem"].get<std::string>(), HasSubstr("not there"));
  EXPECT_EQ(json["environment"]["CUDA_DEVICE_ORDER"], "PCI_BUS_ID");
}

}  // namespace
}  // namespace sheaf::cuda
