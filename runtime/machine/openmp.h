// OpenMP as oneDNN knows it. Debian's oneDNN starts its work through libgomp's entry points, a compiler's form of `#pragma omp
// parallel`. A program that has this file defines those entry points itself, and the dynamic linker gives them to oneDNN: its
// work then runs on sheaf's teams (runtime/machine/team.h), as sheaf's own does. libgomp reads how to wait from its environment
// when it is loaded: by default it spins for milliseconds, which on a shared machine keeps the core from the very thread
// it waits for, several times in each step.
//
// Other users of OpenMP in the program get libgomp, as if this weren't here. If sheaf is part of a shared library, the
// dynamic linker has already given oneDNN libgomp: then sheaf uses libgomp, too.
#pragma once

namespace sheaf {

/// Calls body(data) `shares` times, on the threads that oneDNN's work runs on, and returns when all calls have. Don't call it
/// within such a call.
void openmp_run(int shares, void (*body)(void*), void* data);

/// The calling thread's number in such a call, and the number of shares.
struct OpenmpShare {
  int index = 0, count = 1;
};
OpenmpShare openmp_share();

/// Whether the calling thread is in such a call, or in one of the program's own parallel regions.
bool in_openmp();

/// Whether oneDNN's work runs on sheaf's teams.
bool serves_openmp();

}  // namespace sheaf
