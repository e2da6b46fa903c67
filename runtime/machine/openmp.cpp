#include "runtime/machine/openmp.h"

#include "runtime/machine/team.h"

#include <dlfcn.h>
#include <link.h>
#include <oneapi/dnnl/dnnl.h>

#include <cstdint>

#define SHEAF_ENTRY_POINT extern "C" __attribute__((visibility("default")))

// libgomp's interface (GOMP_parallel: GCC's libgomp/libgomp_g.h): all that oneDNN 2.6 uses of it beside
// omp_get_max_threads(), which stays libgomp's.
SHEAF_ENTRY_POINT void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
SHEAF_ENTRY_POINT void GOMP_barrier();
SHEAF_ENTRY_POINT int omp_get_thread_num();
SHEAF_ENTRY_POINT int omp_get_num_threads();
SHEAF_ENTRY_POINT int omp_in_parallel();
extern "C" int omp_get_max_threads();

namespace sheaf {
namespace {

/// libgomp's own, which are behind those of this program.
struct Libgomp {
  decltype(&GOMP_parallel) parallel = find<decltype(&GOMP_parallel)>("GOMP_parallel");
  decltype(&GOMP_barrier) barrier = find<decltype(&GOMP_barrier)>("GOMP_barrier");
  decltype(&omp_get_thread_num) thread_num = find<decltype(&omp_get_thread_num)>("omp_get_thread_num");
  decltype(&omp_get_num_threads) num_threads = find<decltype(&omp_get_num_threads)>("omp_get_num_threads");
  decltype(&omp_in_parallel) in_parallel = find<decltype(&omp_in_parallel)>("omp_in_parallel");

 private:
  template <typename Function>
  static Function find(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
  }
};

const Libgomp& libgomp() {
  static const Libgomp found;
  return found;
}

/// Where an object's code is.
struct Code {
  uintptr_t begin = 0, end = 0;
  bool has(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= begin && at < end;
  }
};

/// The segment that holds oneDNN's code.
Code find_onednn() {
  struct Search {
    uintptr_t address;
    Code found;
  } search{reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "dnnl_primitive_execute")), {}};
  if (search.address == 0) search.address = reinterpret_cast<uintptr_t>(&dnnl_primitive_execute);
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* context) {
        auto& wanted = *static_cast<Search*>(context);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& segment = object->dlpi_phdr[i];
          const Code code{object->dlpi_addr + segment.p_vaddr, object->dlpi_addr + segment.p_vaddr + segment.p_memsz};
          if (segment.p_type != PT_LOAD || wanted.address < code.begin || wanted.address >= code.end) continue;
          wanted.found = code;
          return 1;
        }
        return 0;
      },
      &search);
  return search.found;
}

bool called_by_onednn(const void* caller) {
  static const Code onednn = find_onednn();
  return onednn.has(caller);
}

}  // namespace

void openmp_run(int shares, void (*body)(void*), void* data) {
  if (serves_openmp()) {
    Team::own().run(shares, body, data);
  } else {
    libgomp().parallel(body, data, static_cast<unsigned>(shares), 0);
  }
}

OpenmpShare openmp_share() { return {omp_get_thread_num(), omp_get_num_threads()}; }

bool in_openmp() { return omp_in_parallel() != 0; }

bool serves_openmp() {
  static const bool first = dlsym(RTLD_DEFAULT, "GOMP_parallel") == reinterpret_cast<void*>(&GOMP_parallel);
  return first;
}

}  // namespace sheaf

using sheaf::Team;

void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  if (!sheaf::called_by_onednn(__builtin_return_address(0))) return sheaf::libgomp().parallel(body, data, threads, flags);
  if (Team::share().team) return Team::run_nested(body, data);
  const int shares = threads == 0 ? omp_get_max_threads() : static_cast<int>(threads);
  if (shares == 1 || sheaf::libgomp().in_parallel()) return sheaf::libgomp().parallel(body, data, threads, flags);
  Team::own().run(shares, body, data);
}

void GOMP_barrier() {
  if (Team* team = Team::share().team) return team->wait_for_all();
  sheaf::libgomp().barrier();
}

int omp_get_thread_num() { return Team::share().team ? Team::share().index : sheaf::libgomp().thread_num(); }
int omp_get_num_threads() { return Team::share().team ? Team::share().count : sheaf::libgomp().num_threads(); }
int omp_in_parallel() { return Team::share().team ? 1 : sheaf::libgomp().in_parallel(); }
