# sheaf_need(PACKAGE [what find_package takes...]): find_package that says, where there is none, how to install it.
include_guard(GLOBAL)

macro(sheaf_need package)
  find_package(${package} ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} isn't installed. tools/setup.sh installs all that sheaf is built with on Debian 12; "
      "tools/packages.txt has the list.")
  endif()
endmacro()
