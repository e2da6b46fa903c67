# The first thing that `cmake --install` does: it stops where one of SHEAF_PACKAGE_FILES isn't built, so that no half of a package
# is left behind. The Python package's component has none of them: `pip install .` builds nothing but the extension.
if(CMAKE_INSTALL_COMPONENT STREQUAL "python")
  return()
endif()
set(missing)
foreach(file ${SHEAF_PACKAGE_FILES})
  if(NOT EXISTS ${file})
    string(APPEND missing "\n  ${file}")
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "nothing is installed, since these are not built yet (tools/build.sh default sheaf-package builds them):${missing}")
endif()
