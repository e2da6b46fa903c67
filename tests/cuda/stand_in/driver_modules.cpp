// The stand-in driver: PTX that is compiled, modules, kernels. Machine code is a text for sm_90.
#include "tests/cuda/stand_in/driver_state.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace stand_in {
namespace {

/// Machine code, which ends with a zero. STAND_IN_GENERATION: of a GPU that takes no other's.
std::string code_here() {
  const char* generation = std::getenv("STAND_IN_GENERATION");
  return std::string("\177ELF stand-in for ") + (generation ? generation : "sm_90");
}

struct Module {
  int device = 0;
  std::map<std::string, Kernel*> kernels;
};
struct Linking {
  int device = 0;
  char* log = nullptr;
  size_t room = 0;
  std::string code;
};

struct Objects {
  Handles<Module> modules{"module"};
  Handles<Kernel> kernels{"kernel"};
  Handles<Linking> linkings{"linking"};
  int compilations = 0;
};
Objects& objects() {
  static auto& made = *new Objects;
  return made;
}

}  // namespace

Handles<Kernel>& kernels() { return objects().kernels; }
int take_compilations() {
  const Lock lock(machine());
  return std::exchange(objects().compilations, 0);
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

CUresult cuLinkCreate(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
  NEEDS_CONTEXT;
  NOT_IN_A_CAPTURE;
  const Lock lock(machine());
  auto made = std::make_shared<Linking>();
  made->device = current_device();
  for (unsigned int i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) made->log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) made->room = reinterpret_cast<size_t>(values[i]);
  }
  return *state = reinterpret_cast<CUlinkState>(objects().linkings.make(made)), CUDA_SUCCESS;
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*, unsigned int count,
                       CUjit_option*, void**) {
  FIND_IN(linking, objects().linkings, state);
  IN_ITS_CONTEXT(linking);
  const char* text = static_cast<const char*>(data);
  if (type != CU_JIT_INPUT_PTX || count != 0 || bytes == 0 || text[bytes - 1] != '\0') return CUDA_ERROR_INVALID_VALUE;
  ++objects().compilations;
  if (std::strstr(text, ".version")) return linking->code = code_here(), CUDA_SUCCESS;
  if (linking->log) std::strncpy(linking->log, "line 1: no .version\n", linking->room);
  return CUDA_ERROR_INVALID_PTX;
}
CUresult cuLinkComplete(CUlinkState state, void** code, size_t* bytes) {
  FIND_IN(linking, objects().linkings, state);
  if (linking->code.empty()) return CUDA_ERROR_INVALID_VALUE;
  *code = linking->code.data();
  return *bytes = linking->code.size() + 1, CUDA_SUCCESS;
}
CUresult cuLinkDestroy(CUlinkState state) {
  const Lock lock(machine());
  return objects().linkings.destroy(state, "cuLinkDestroy") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*, void**) {
  NEEDS_CONTEXT;
  if (static_cast<const char*>(image) != code_here()) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  const Lock lock(machine());
  auto made = std::make_shared<Module>();
  made->device = current_device();
  return *module = reinterpret_cast<CUmodule>(objects().modules.make(made)), CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule handle) {
  FIND_IN(module, objects().modules, handle);
  IN_ITS_CONTEXT(module);
  for (const auto& [name, kernel] : module->kernels) kernels().destroy(kernel, "cuModuleUnload");
  return objects().modules.destroy(handle, "cuModuleUnload"), CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  FIND_IN(module, objects().modules, handle);
  IN_ITS_CONTEXT(module);
  if (std::strcmp(name, "nowhere") == 0) return CUDA_ERROR_NOT_FOUND;
  Kernel*& kernel = module->kernels[name];
  if (!kernel) kernel = kernels().make(std::make_shared<Kernel>(Kernel{module->device, false}));
  return *function = reinterpret_cast<CUfunction>(kernel), CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction function) {
  FIND_IN(kernel, kernels(), function);
  IN_ITS_CONTEXT(kernel);
  return kernel->loaded = true, CUDA_SUCCESS;
}

}  // extern "C"
