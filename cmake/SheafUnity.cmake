# Several files a compilation: what they all include, and the templates they all instantiate, are compiled once. A whole
# build takes less than half the time, a build after an edit of a header too.
#
#   sheaf_unity(TARGET)        its files are compiled sixteen at a time, unless SHEAF_UNITY is off
#
# A file's own names, in anonymous namespaces, meet its neighbours': they differ within a folder. A file in which they can't is
# compiled by itself: SKIP_UNITY_BUILD_INCLUSION.
include_guard(GLOBAL)
option(SHEAF_UNITY "Compile several files at a time (off: each by itself, as clangd and clang-tidy want it)" ON)

function(sheaf_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SHEAF_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()
