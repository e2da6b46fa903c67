#include "tools/estimate/median_rates.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

DeviceDescription described(double rate) {
  DeviceDescription device;
  device.cores = 2;
  device.flops_per_second = rate;
  device.seconds_per_wait = 1 / rate;
  device.operations = {{Op::conv, rate - 1}};
  device.by_channels = {{Op::conv, {{8, rate / 2}, {64, 2 * rate}}}};
  device.bf16_fast_by_channels = {{Op::conv, {{"winograd", {{8, 3 * rate}}}}}};
  return device;
}

TEST(MedianRates, OfOnePassAreItsOwn) {
  const DeviceDescription one = median_of({described(40)});
  EXPECT_EQ(one.flops_per_second, 40);
  EXPECT_EQ(one.by_channels, described(40).by_channels);
}

TEST(MedianRates, EachFigureHasItsOwnMiddlePass) {
  DeviceDescription high = described(90);
  high.operations[Op::conv] = 1;  // slower than both others at this one
  const DeviceDescription joined = median_of({described(20), high, described(40)});
  EXPECT_EQ(joined.cores, 2);
  EXPECT_EQ(joined.flops_per_second, 40);
  EXPECT_EQ(joined.seconds_per_wait, 1.0 / 40);
  EXPECT_EQ(joined.operations.at(Op::conv), 19);
  EXPECT_EQ(joined.by_channels, described(40).by_channels);
  EXPECT_EQ(joined.bf16_fast_by_channels, described(40).bf16_fast_by_channels);
}

}  // namespace
}  // namespace sheaf
