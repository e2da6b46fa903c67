# `cmake --install`: the programs, the runtime library, its public headers and a package for find_package(sheaf).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What runtime/session/sheaf.h includes, the training step, traces, and nothing else; the include path is DIR/include/sheaf.
set(SHEAF_PUBLIC_HEADERS runtime/session/sheaf.h runtime/base/dtype.h runtime/base/error.h runtime/base/extent.h runtime/base/tensor_view.h
  runtime/training/trainer.h runtime/trace/trace.h runtime/trace/profile.h)
set(SHEAF_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sheaf)

target_include_directories(sheaf_base INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/sheaf>)
target_compile_features(sheaf_base INTERFACE cxx_std_20)

# What is built for the package: one target, which tools/demo.sh builds too, so that installing works after either.
get_property(SHEAF_FLOORS GLOBAL PROPERTY SHEAF_FLOORS)
set(package_targets ${SHEAF_FLOORS} sheaf-run)
if(TARGET sheaf)
  list(APPEND package_targets sheaf)
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
install(CODE "set(SHEAF_PACKAGE_FILES \"${package_files}\")")
install(SCRIPT cmake/check_built.cmake)

install(FILES LICENSE THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS ${SHEAF_FLOORS} EXPORT sheafTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(program sheaf sheaf-run)
  if(TARGET ${program})
    # Debian's libMLIR lies in LLVM's own prefix.
    set_target_properties(${program} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
if(TARGET sheaf-about)
  install(FILES ${CMAKE_BINARY_DIR}/about/sheaf.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/about/sheaf.bash RENAME sheaf DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${CMAKE_BINARY_DIR}/about/_sheaf DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${CMAKE_BINARY_DIR}/about/sheaf.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
foreach(header ${SHEAF_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sheaf/${folder})
endforeach()
install(EXPORT sheafTargets NAMESPACE sheaf:: DESTINATION ${SHEAF_PACKAGE_DIR})
configure_package_config_file(cmake/sheafConfig.cmake.in ${CMAKE_BINARY_DIR}/sheafConfig.cmake
  INSTALL_DESTINATION ${SHEAF_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sheafConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sheafConfig.cmake ${CMAKE_BINARY_DIR}/sheafConfigVersion.cmake
  DESTINATION ${SHEAF_PACKAGE_DIR})
