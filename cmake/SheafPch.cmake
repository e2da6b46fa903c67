# Precompiled headers. JSON, GoogleTest and the standard library are most of what a file of the runtime, or of its
# tests, takes to compile: 1.1 of 1.9 seconds. (Files that include MLIR have a header of their own: SheafMlir.cmake.)
#
#   sheaf_precompile(TARGET)        a library, or a program
#   sheaf_precompile_test(TARGET)   a test program
include_guard(GLOBAL)
include(SheafUnity)

# Without the timestamp in it, a header that was made anew serves as well as the one that an object was compiled with. Without
# the option that names its text by an absolute path, ccache (tools/compiler-launcher.sh) serves builds in other folders.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
endif()
set(SHEAF_PCH_OPTIONS "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")

# An object library that does nothing but precompile `header`, for others to reuse.
function(sheaf_pch name header)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp
    CONTENT "// Gives the precompiled header a target to be built in.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARGN})
  target_compile_options(${name} PRIVATE ${SHEAF_PCH_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${header})
endfunction()

sheaf_pch(sheaf_runtime_pch ${CMAKE_CURRENT_LIST_DIR}/runtime_pch.h nlohmann_json::nlohmann_json)

# A library or a program, compiled with the header of `pch`, several files at a time.
function(sheaf_reuse_pch target pch)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")  # compiled as the header was: -fPIC, not a program's -fPIE
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_compile_options(${target} PRIVATE ${SHEAF_PCH_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM ${pch})
  sheaf_unity(${target})
endfunction()

function(sheaf_precompile target)
  sheaf_reuse_pch(${target} sheaf_runtime_pch)
endfunction()

# ThreadSanitizer's build is compiled without optimisation, in two thirds of the time; what loops over numbers is optimised there too, so
# that tests take no longer.
#   sheaf_loops(TARGET)
function(sheaf_loops target)
  if(SHEAF_SANITIZE STREQUAL "thread")
    target_compile_options(${target} PRIVATE -O1)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # which are not optimised
  endif()
endfunction()

# Tests are compiled without optimisation: GoogleTest's templates take twice as long with it, three times under a sanitizer, and what
# is tested is in libraries.
function(sheaf_precompile_test target)
  if(NOT TARGET sheaf_test_pch)
    sheaf_pch(sheaf_test_pch ${CMAKE_SOURCE_DIR}/cmake/test_pch.h nlohmann_json::nlohmann_json GTest::gtest GTest::gmock)
    target_compile_options(sheaf_test_pch PRIVATE -O0)
  endif()
  target_compile_options(${target} PRIVATE -O0)
  sheaf_reuse_pch(${target} sheaf_test_pch)
endfunction()
