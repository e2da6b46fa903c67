#include "runtime/cuda/vendor/driver_functions.h"

namespace sheaf::cuda {

Result<DriverFunctions> DriverFunctions::open() {
  SHEAF_ASSIGN(auto library, SharedLibrary::open("NVIDIA's driver", {"libcuda.so.1"}));
  DriverFunctions functions;
  Symbols symbols(library);
#define SHEAF_TEXT(name) #name
#define SHEAF_FIND(name) symbols.require(SHEAF_TEXT(name), functions.name);
  SHEAF_DRIVER_FUNCTIONS(SHEAF_FIND)
#undef SHEAF_FIND
#define SHEAF_FIND(name) symbols.optional(SHEAF_TEXT(name), functions.name);
  SHEAF_LATER_DRIVER_FUNCTIONS(SHEAF_FIND)
#undef SHEAF_FIND
#undef SHEAF_TEXT
  SHEAF_TRY(symbols.result());
  return functions;
}

Error DriverFunctions::error(const char* call, CUresult result) const {
  const char *name = nullptr, *words = nullptr;
  if (this->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "unknown error";
  if (this->cuGetErrorString(result, &words) != CUDA_SUCCESS || !words) words = "no description";
  return Error(std::string(call) + ": " + words + " (" + name + ")");
}

}  // namespace sheaf::cuda
