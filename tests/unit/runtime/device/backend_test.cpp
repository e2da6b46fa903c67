// The registry of backends: what a device list may name.
#include "runtime/cpu/cpu_device.h"
#include "runtime/device/backend.h"
#include "runtime/session/open_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Result<std::shared_ptr<Device>> open_none(int index) {
  if (index > 0) return Error("there is one alone");
  return cpu_device();
}

TEST(Backends, OneThatIsRegisteredCanBeNamed) {
  EXPECT_FALSE(parse_devices("abacus:0"));
  static constexpr DeviceBackend abacus = {"abacus", open_none};
  register_backend(abacus);
  EXPECT_THAT(backend_names(), Contains("abacus"));
  const auto list = parse_devices("abacus:0-1,cpu:0");
  ASSERT_TRUE(list) << to_string(list.error());
  EXPECT_EQ(to_string((*list)[1]), "abacus:1");
  EXPECT_TRUE(open_device((*list)[0]));
  const auto second = open_device((*list)[1]);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr("device abacus:1 cannot be used: there is one alone"));
  EXPECT_FALSE(plan_device((*list)[1], "why")) << "it has nothing to plan with";
}

TEST(Backends, TheNearestNameIsSuggested) {
  const auto list = parse_devices("cuba:0");
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message(), HasSubstr("'cuda'"));
}

TEST(DeviceNames, HaveOneSpelling) {
  EXPECT_EQ(parse_device_name("cuda:12")->index, 12);
  EXPECT_FALSE(parse_device_name("cuda")->index);
  for (const char* text : {"", ":1", "cuda:", "cuda:01", "cuda:-1", "cuda:+1", "cuda:1024", "cuda:1x", "cuda:99999999999"}) {
    EXPECT_FALSE(parse_device_name(text)) << text;
  }
}

}  // namespace
}  // namespace sheaf
