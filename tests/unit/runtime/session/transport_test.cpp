// When data goes from device to device between ranks, and when through their hosts' memories.
#include "runtime/session/open_devices.h"
#include "runtime/session/transport.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

LinkOffer offer(const std::string& name, const std::string& device, const std::string& library = "NCCL 2.28.9") {
  return {name, {device, library}, ""};
}

TEST(Transport, LinksDifferentDevicesWithOneVersion) {
  EXPECT_EQ(why_not_linked({offer("0/cuda:0", "GPU-1"), offer("1/cuda:0", "GPU-2"), offer("2/cuda:1", "GPU-3")}), "");
}

TEST(Transport, SaysWhatStandsAgainstALink) {
  LinkOffer cpu;
  cpu.device = "1/cpu:0";
  cpu.why_not = "devices of its kind have no link between processes";
  EXPECT_EQ(why_not_linked({offer("0/cuda:0", "GPU-1"), cpu}),
            "1/cpu:0 can't be linked: devices of its kind have no link between processes");
  EXPECT_EQ(why_not_linked({offer("0/cuda:0", "GPU-1"), offer("1/cuda:0", "GPU-2", "NCCL 2.27.3")}),
            "rank 1 has NCCL 2.27.3, and rank 0 has NCCL 2.28.9");
  EXPECT_EQ(why_not_linked({offer("0/cuda:0", "GPU-1"), offer("1/cuda:0", "GPU-2"), offer("2/cuda:1", "GPU-1")}),
            "0/cuda:0 and 2/cuda:1 are the same device, GPU-1");
}

std::string planned(const std::string& list) {
  auto devices = plan_devices(*parse_devices(list), 0, 0, "h200");
  return devices ? to_string(devices->transport()) : "error: " + devices.error().message();
}

TEST(Transport, IsPlannedForAbsentDevices) {
  EXPECT_EQ(planned("0/cuda:0,1/cuda:0"), "from device to device, by NCCL");
  EXPECT_EQ(planned("0/cuda:0,0/cpu:0,1/cuda:0,1/cuda:1"), "from device to device, by NCCL");
  EXPECT_EQ(planned("0/cuda:0,1/cpu:0,1/cuda:0"), "through their hosts' memories: 1/cpu:0 can't be linked");
  EXPECT_EQ(planned("cuda:0,cuda:1"), "") << "one process";
  const auto cpus = plan_devices(*parse_devices("0/cpu:0,1/cpu:0"), 0, 0, "");
  ASSERT_TRUE(cpus);
  EXPECT_EQ(to_string(cpus->transport()), "");
}

}  // namespace
}  // namespace sheaf
