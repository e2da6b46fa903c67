# Copies what SHEAF_EXTENSION needs to SHEAF_LIBRARIES, except for the C and C++ libraries that come with every
# Linux that runs Python.
file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${SHEAF_EXTENSION} RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR lost
  PRE_EXCLUDE_REGEXES "^(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s))\\.so")
if(lost)
  message(FATAL_ERROR "libraries that the extension needs aren't there: ${lost}")
endif()
foreach(library ${found})
  # Under the name that it is requested by, as the file behind it, since a wheel has no links.
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} file)
  get_filename_component(real ${file} NAME)
  file(INSTALL ${file} DESTINATION ${SHEAF_LIBRARIES})
  if(NOT name STREQUAL real)
    file(RENAME ${SHEAF_LIBRARIES}/${real} ${SHEAF_LIBRARIES}/${name})
  endif()
  # If a library has a path of its own, the extension's path isn't searched for what the library needs.
  file(RPATH_REMOVE FILE ${SHEAF_LIBRARIES}/${name})
endforeach()
