#include "runtime/cpu/dnnl/dnnl_engine.h"

namespace sheaf {

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

}  // namespace sheaf
