# What a wheel carries: the extension, its stub, and, in sheaf/libraries, the libraries that it needs and that not every Linux has.
#
# DT_RPATH, not DT_RUNPATH, so that these find one another there, too.
set_target_properties(sheaf_python PROPERTIES INSTALL_RPATH "$ORIGIN/libraries")
target_link_options(sheaf_python PRIVATE -Wl,--disable-new-dtags)
install(TARGETS sheaf_python LIBRARY DESTINATION sheaf COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${package}/_sheaf.pyi DESTINATION sheaf COMPONENT python EXCLUDE_FROM_ALL)
install(CODE "
  set(SHEAF_EXTENSION \"$<TARGET_FILE:sheaf_python>\")
  set(SHEAF_LIBRARIES \"\${CMAKE_INSTALL_PREFIX}/sheaf/libraries\")
" COMPONENT python EXCLUDE_FROM_ALL)
install(SCRIPT ${CMAKE_CURRENT_SOURCE_DIR}/copy_libraries.cmake COMPONENT python EXCLUDE_FROM_ALL)
