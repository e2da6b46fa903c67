# MLIR, LLVM and lld 19.1, and how this project's files are compiled against them.
#
# Only the shared libraries `MLIR` and `LLVM` are linked: a static MLIR library next to them would register
# everything twice. A file that includes MLIR headers takes 20 s and more to compile on its own; with the
# precompiled header below it takes a few. So every such file belongs to a target made by one of these:
#
#   sheaf_mlir_library(NAME source... [DEPENDS tablegen-target...] [LINK library...])
#       a static library
#   sheaf_mlir_executable(NAME source... [DEPENDS ...] [LINK ...])
#       a program
#   sheaf_tablegen(TARGET file.td  -gen-op-decls Ops.h.inc  -gen-op-defs Ops.cpp.inc ...)
#       pairs of a generator (with further options as one quoted string) and the file it makes, in the current
#       binary directory, which mirrors the source tree: #include "ir/Nn/Ops.h.inc"
include_guard(GLOBAL)

# Debian keeps LLVM 19 in a prefix of its own.
sheaf_need(MLIR 19.1 CONFIG HINTS /usr/lib/llvm-19)
sheaf_need(ZLIB)
sheaf_need(zstd CONFIG)
sheaf_need(LLD 19.1 CONFIG HINTS ${LLVM_INSTALL_PREFIX})
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
include_directories(${CMAKE_BINARY_DIR})  # tablegen's output
separate_arguments(SHEAF_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")

include(SheafPch)
sheaf_pch(sheaf_mlir_pch ${CMAKE_CURRENT_LIST_DIR}/mlir_pch.h)
target_compile_definitions(sheaf_mlir_pch PRIVATE ${SHEAF_LLVM_DEFINITIONS})

# What sheaf_mlir_library and sheaf_mlir_executable have in common.
function(sheaf_mlir_target name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "DEPENDS;LINK")
  target_compile_definitions(${name} PRIVATE ${SHEAF_LLVM_DEFINITIONS})
  sheaf_reuse_pch(${name} sheaf_mlir_pch)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

function(sheaf_mlir_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "DEPENDS;LINK")
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  sheaf_mlir_target(${name} DEPENDS ${ARG_DEPENDS} LINK ${ARG_LINK})
endfunction()

function(sheaf_mlir_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "DEPENDS;LINK")
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  sheaf_mlir_target(${name} DEPENDS ${ARG_DEPENDS} LINK ${ARG_LINK})
endfunction()

function(sheaf_tablegen target file)
  set(LLVM_TARGET_DEFINITIONS ${file})
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest generator output)
    separate_arguments(generator NATIVE_COMMAND "${generator}")
    mlir_tablegen(${output} ${generator})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()
