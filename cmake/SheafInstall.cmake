# `cmake --install`: the programs, the libraries, their public headers and a package for find_package(sheaf). Its targets: sheaf::runtime,
# sheaf::inspect, and, as a component that has to be asked for since it needs MLIR, sheaf::compiler.
#
# Each file belongs to a component, of which cmake/SheafDebian.cmake makes a Debian package: `runtime` (sheaf-run), `compiler` (sheaf)
# and `development` (libraries and headers); or to `documents`, which the packages hold in Debian's form.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The public headers: those of sheaf/, and five of the lowest floor, of which all else is made. They are installed side by side as
# <sheaf/NAME.h>, and include one another by these names.
file(GLOB SHEAF_PUBLIC_HEADERS RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sheaf/*.h)
if(NOT SHEAF_COMPILER)
  list(REMOVE_ITEM SHEAF_PUBLIC_HEADERS sheaf/compiler.h)
endif()
list(APPEND SHEAF_PUBLIC_HEADERS runtime/base/bytes.h runtime/base/dtype.h runtime/base/error.h runtime/base/extent.h runtime/base/length.h runtime/base/version.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SHEAF_PUBLIC_HEADERS})
foreach(header ${SHEAF_PUBLIC_HEADERS})
  file(READ ${header} text)
  string(REGEX REPLACE "#include \"(runtime/base|sheaf)/([a-z]+\\.h)\"" "#include <sheaf/\\2>" text "${text}")
  if(text MATCHES "#include (\"[^\"]*\"|<[^>]*/[^>]*>)" AND NOT CMAKE_MATCH_1 MATCHES "^<sheaf/")
    message(FATAL_ERROR "${header} is installed, and ${CMAKE_MATCH_1}, which it includes, is not")
  endif()
  get_filename_component(name ${header} NAME)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/sheaf/${name} CONTENT "${text}" @ONLY)
  list(APPEND header_files ${CMAKE_BINARY_DIR}/include/sheaf/${name})
endforeach()
set(SHEAF_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sheaf)

target_include_directories(sheaf_base INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(sheaf_base INTERFACE cxx_std_20)

# What is built for the package: one target, which tools/demo.sh builds too, so that installing works after either.
get_property(SHEAF_FLOORS GLOBAL PROPERTY SHEAF_FLOORS)
set(SHEAF_COMPILER_LIBRARIES)
if(SHEAF_COMPILER)
  set(SHEAF_COMPILER_LIBRARIES sheaf_frontend sheaf_import sheaf_ir sheaf_passes sheaf_kernels sheaf_codegen sheaf_driver)
  set_target_properties(sheaf_driver PROPERTIES EXPORT_NAME compiler)
endif()
set_target_properties(sheaf_tools PROPERTIES EXPORT_NAME inspect)
set(package_targets ${SHEAF_FLOORS} sheaf_tools ${SHEAF_COMPILER_LIBRARIES} sheaf-run)
if(TARGET sheaf)
  list(APPEND package_targets sheaf sheaf-compiler)
endif()
set(package_files)
foreach(target ${package_targets})
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    list(APPEND package_files $<TARGET_FILE:${target}>)
  endif()
endforeach()
if(TARGET sheaf-about)
  list(APPEND package_targets sheaf-about)
  list(APPEND package_files ${CMAKE_BINARY_DIR}/about/sheaf.1)
endif()
add_custom_target(sheaf-package DEPENDS ${package_targets})
install(CODE "set(SHEAF_PACKAGE_FILES \"${package_files}\")" ALL_COMPONENTS)
install(SCRIPT cmake/check_built.cmake ALL_COMPONENTS)

install(FILES LICENSE THIRD_PARTY.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)
install(TARGETS ${SHEAF_FLOORS} sheaf_tools EXPORT sheafTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
if(SHEAF_COMPILER)
  install(TARGETS ${SHEAF_COMPILER_LIBRARIES} EXPORT sheafCompilerTargets 
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT sheafCompilerTargets NAMESPACE sheaf:: DESTINATION ${SHEAF_PACKAGE_DIR} COMPONENT development)
endif()
# The engine of worlds, which no package needs: programs open it where it is (runtime/world/launcher.cpp).
if(TARGET sheaf_mpi)
  install(TARGETS sheaf_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sheaf COMPONENT mpi)
endif()
install(TARGETS sheaf-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
if(TARGET sheaf)
  # Debian's libMLIR lies in LLVM's own prefix.
  set_target_properties(sheaf-compiler PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS sheaf sheaf-compiler RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)
endif()
if(TARGET sheaf-about)
  install(FILES ${CMAKE_BINARY_DIR}/about/sheaf.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT documents)
  install(FILES ${CMAKE_BINARY_DIR}/about/sheaf.bash RENAME sheaf DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT compiler)
  install(FILES ${CMAKE_BINARY_DIR}/about/_sheaf DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT compiler)
  install(FILES ${CMAKE_BINARY_DIR}/about/sheaf.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT compiler)
endif()
install(FILES ${header_files} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sheaf COMPONENT development)
install(EXPORT sheafTargets NAMESPACE sheaf:: DESTINATION ${SHEAF_PACKAGE_DIR} COMPONENT development)
configure_package_config_file(cmake/sheafConfig.cmake.in ${CMAKE_BINARY_DIR}/sheafConfig.cmake
  INSTALL_DESTINATION ${SHEAF_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sheafConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sheafConfig.cmake ${CMAKE_BINARY_DIR}/sheafConfigVersion.cmake
  DESTINATION ${SHEAF_PACKAGE_DIR} COMPONENT development)
