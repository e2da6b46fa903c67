// What `estimate` says of a rank's memory is what its process takes, to the byte: arenas, those of its messages too, parameters and the
// optimiser's state, with every strategy.
#include "runtime/bind/binding.h"
#include "runtime/device/ranked_device.h"
#include "runtime/session/open_devices.h"
#include "tests/unit/runtime/world/threads_as_ranks.h"
#include "tests/unit/tools/driver/compiled_model.h"
#include "tests/unit/tools/driver/counted_device.h"
#include "tools/estimate/estimate.h"
#include "tools/estimate/planned_program.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

/// The list's devices as a process of `world` opens them: its own are `device`.
DeviceSet devices_of(const std::vector<DeviceSpec>& list, int shards, const std::shared_ptr<World>& world,
                     const std::shared_ptr<Device>& device) {
  std::vector<std::shared_ptr<Device>> hosts, entries;
  std::vector<std::string> names;
  for (int rank = 0; rank < world->size(); ++rank) hosts.push_back(ranked_device(device, {world, rank}));
  for (const DeviceSpec& spec : list) {
    entries.push_back(hosts[static_cast<size_t>(spec.rank)]);
    names.push_back(to_string(spec));
  }
  return DeviceSet(hosts[0], entries, names, world->size(), shards, hosts);
}

/// What a process of the world takes for a training step.
struct Taken {
  BindingInfo info;
  size_t bytes = 0;           ///< in all
  std::vector<LaneId> lanes;  ///< its own
};

Taken taken_by(const std::shared_ptr<World>& world, const Plan& plan, const std::vector<DeviceSpec>& list, int shards,
               int64_t batch) {
  const auto device = std::make_shared<CountedDevice>();
  const auto devices = std::make_shared<const DeviceSet>(devices_of(list, shards, world, device));
  // As a model begins: with values that have yet to get their homes.
  const auto store = std::make_shared<VariableStore>(device, plan.parameters, plan.state);
  for (const Parameter& parameter : plan.parameters) {
    auto variable = store->variable(parameter.name);
    const std::vector<std::byte> zeros(store->spec(*variable).bytes);
    EXPECT_TRUE(variable && store->write(*variable, zeros.data()));
  }
  store->changed();
  BindRequest request{plan, plan.train, devices, {}, store, batch};
  for (LaneId lane : devices->lanes()) request.kernels.push_back(*devices->device(lane).load_kernels(plan));
  auto binding = Binding::bind(request);
  if (!binding) {
    ADD_FAILURE() << to_string(binding.error());
    return {};
  }
  Taken taken{(*binding)->info(), device->taken(), {}};
  for (LaneId lane : devices->lanes())
    if (devices->here(lane)) taken.lanes.push_back(lane);
  return taken;
}

/// The last rank gets none of three rows.
struct Case {
  const char* list;
  int shards;
  int64_t batch;
};

class MemoryOfRanks : public ::testing::TestWithParam<std::tuple<const char*, Strategy>> {};

TEST_P(MemoryOfRanks, IsAsEstimated) {
  const auto [model, strategy] = GetParam();
  const Plan plan = compiled_model(model, {.strategy = strategy});
  for (const Case& one : {Case{"0/cpu:0,1/cpu:0", 0, 16}, Case{"0/cpu:0,1/cpu:0,2/cpu:0,3/cpu:0", 0, 16},
                          Case{"0/cpu:0,1/cpu:0,2/cpu:0,3/cpu:0", 0, 3}, Case{"0/cpu:0-1,1/cpu:0", 4, 16}}) {
    SCOPED_TRACE(std::string(one.list) + " shards " + std::to_string(one.shards) + " batch " + std::to_string(one.batch));
    const auto list = *parse_devices(one.list);
    const int ranks = ranks_of(list);
    std::vector<std::string> names;
    for (const DeviceSpec& spec : list) names.push_back(to_string(spec));
    const auto planned = plan_devices(list, ranks, one.shards);
    ASSERT_TRUE(planned) << to_string(planned.error());
    const auto told = estimate(plan, plan.train, names, *planned, one.batch);
    ASSERT_TRUE(told) << to_string(told.error());

    std::vector<Taken> taken(static_cast<size_t>(ranks));
    test::as_ranks(std::make_shared<test::Mail>(ranks), [&](const std::shared_ptr<ProcessWorld>& world) {
      taken[static_cast<size_t>(world->rank())] = taken_by(world, plan, list, one.shards, one.batch);
      EXPECT_TRUE(world->leave());
    });
    for (size_t rank = 0; rank < taken.size(); ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank));
      const auto& lanes = taken[rank].info.lanes;
      ASSERT_EQ(lanes.size(), told->devices.size());
      for (size_t lane = 0; lane < lanes.size(); ++lane) {
        const DeviceEstimate& device = told->devices[lane];
        EXPECT_EQ(lanes[lane].name, device.device);
        EXPECT_EQ(lanes[lane].arena_bytes, device.arena_bytes) << device.device;
        EXPECT_EQ(lanes[lane].parameter_bytes + lanes[lane].derived_bytes, sum(device.lasting)) << device.device;
      }
      size_t bytes = 0;
      for (LaneId lane : taken[rank].lanes) bytes += told->devices[lane.index()].peak_bytes;
      EXPECT_EQ(taken[rank].bytes, bytes) << "its lanes are all that it takes";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, MemoryOfRanks,
                         ::testing::Combine(::testing::Values("data_parallel_model", "digits_cnn", "transformer_encoder"),
                                            ::testing::Values(Strategy::data_parallel, Strategy::replicated, Strategy::sharded,
                                                              Strategy::fully_sharded)),
                         [](const auto& info) { return std::get<0>(info.param) + ("_" + to_string(std::get<1>(info.param))); });

}  // namespace
}  // namespace sheaf
