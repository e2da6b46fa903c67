// The process's oneDNN engine.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace sheaf {

/// The CPU engine, shared by all lanes: primitives and memory descriptors are not tied to a lane. How many
/// threads a primitive uses is the calling thread's team size (runtime/machine/thread_pool.h), which must be the
/// same when it is made and when it runs: scratchpads are sized for the former.
const dnnl::engine& dnnl_engine();

}  // namespace sheaf
