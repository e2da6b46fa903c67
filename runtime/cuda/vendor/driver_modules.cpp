// NVIDIA's driver: modules. PTX is compiled for the GPU at hand once, and the machine code kept (runtime/cuda/kept.h).
#include "runtime/cuda/kept.h"
#include "runtime/cuda/vendor/nvidia_driver.h"

namespace sheaf::cuda {
namespace {

/// The driver's linker with a piece of PTX in it, and what it says of it.
class Linking {
 public:
  explicit Linking(const DriverFunctions& call) : call_(call) {}
  ~Linking() {
    if (state_) call_.cuLinkDestroy(state_);
  }
  Linking(const Linking&) = delete;
  Linking& operator=(const Linking&) = delete;

  /// Machine code for the current context's device.
  Result<std::string> compile(const std::string& ptx) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log_, reinterpret_cast<void*>(sizeof log_)};  // the pointer holds the size itself
    SHEAF_TRY(checked("cuLinkCreate", call_.cuLinkCreate(2, options, values, &state_)));
    // The text ends with a zero, which counts.
    SHEAF_TRY(checked("cuLinkAddData", call_.cuLinkAddData(state_, CU_JIT_INPUT_PTX, const_cast<char*>(ptx.c_str()),
                                                           ptx.size() + 1, "kernels", 0, nullptr, nullptr)));
    void* code = nullptr;
    size_t bytes = 0;
    SHEAF_TRY(checked("cuLinkComplete", call_.cuLinkComplete(state_, &code, &bytes)));
    return std::string(static_cast<const char*>(code), bytes);  // the linker's own
  }

 private:
  Result<void> checked(const char* name, CUresult code) {
    if (code == CUDA_SUCCESS) return {};
    Error error = call_.error(name, code);
    if (code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) error.note("a newer driver is needed for this PTX");
    log_[sizeof log_ - 1] = '\0';
    std::string text = log_;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    if (!text.empty()) error.note("the driver's compiler says: " + text);
    return error;
  }

  const DriverFunctions& call_;
  CUlinkState state_ = nullptr;
  char log_[8192] = "";
};

}  // namespace

Result<Module> NvidiaDriver::load(int device, const std::string& ptx) {
  SHEAF_TRY(make_current(device));
  const DeviceProperties& properties = at(device).properties;
  const std::string key = "machine code for sm_" + std::to_string(properties.major) + std::to_string(properties.minor) +
                          " by " + version() + " of " + ptx;
  CUmodule module = nullptr;
  if (const auto kept = kept_files().find(key);
      kept && call_.cuModuleLoadDataEx(&module, kept->data(), 0, nullptr, nullptr) == CUDA_SUCCESS)
    return reinterpret_cast<Module>(module);
  SHEAF_ASSIGN(const auto code, Linking(call_).compile(ptx));
  SHEAF_TRY(result("cuModuleLoadDataEx", call_.cuModuleLoadDataEx(&module, code.data(), 0, nullptr, nullptr)));
  keep(key, code);
  return reinterpret_cast<Module>(module);
}

void NvidiaDriver::unload(int device, Module module) {
  if (module && make_current(device)) call_.cuModuleUnload(reinterpret_cast<CUmodule>(module));
}

Result<Function> NvidiaDriver::function(int device, Module module, const std::string& name) {
  SHEAF_TRY(make_current(device));
  CUfunction function = nullptr;
  const CUresult code = call_.cuModuleGetFunction(&function, reinterpret_cast<CUmodule>(module), name.c_str());
  if (code != CUDA_SUCCESS) return call_.error("cuModuleGetFunction", code).note("of '" + name + "'");
#if CUDA_VERSION >= 12040
  // Drivers load a function when it is first launched (CUDA_MODULE_LOADING=LAZY), which may wait for all work of the device.
  if (call_.cuFuncLoad) SHEAF_TRY(result("cuFuncLoad", call_.cuFuncLoad(function)));
#endif
  return reinterpret_cast<Function>(function);
}

}  // namespace sheaf::cuda
