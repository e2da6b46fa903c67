// The request that `run` and `eval` share.
#pragma once

#include "runtime/device/device_list.h"
#include "sheaf/options.h"

#include <map>
#include <string>
#include <vector>

namespace sheaf {

class Options;

/// Which rows go through a model, how many at a time, where and how.
struct RowsRequest {
  std::vector<DeviceSpec> devices;
  std::map<std::string, std::string> sources;  ///< by the name of an input or target
  int64_t batch_size = 0;
  uint64_t seed = 0;
  BindOptions bind;
};

/// From the command line; every error is its fault. `option`: the one that names sources; `batch_size`: the default.
Result<RowsRequest> rows_request(const Options& options, const std::string& option, int64_t batch_size);

}  // namespace sheaf
