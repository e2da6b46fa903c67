#include "tools/cli/rows_request.h"

#include "tools/cli/execution_options.h"
#include "tools/cli/named_sources.h"
#include "tools/cli/trace_options.h"

#include <limits>

namespace sheaf {

Result<RowsRequest> rows_request(const Options& options, const std::string& option, int64_t batch_size) {
  RowsRequest request;
  SHEAF_ASSIGN(request.devices, parse_devices(options.value("--devices")));
  SHEAF_ASSIGN(request.batch_size, options.integer("--batch-size", 1, int64_t{1} << 40, batch_size));
  SHEAF_ASSIGN(const int64_t seed, options.integer("--seed", 0, std::numeric_limits<int64_t>::max(), 0));
  request.seed = static_cast<uint64_t>(seed);
  SHEAF_ASSIGN(request.bind, bind_options(options));
  SHEAF_ASSIGN(request.sources, named_sources(option, options.values(option)));
  SHEAF_TRY(TraceRequest::check(options));
  return request;
}

}  // namespace sheaf
