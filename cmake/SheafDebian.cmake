# `cpack -G DEB` in a build folder: Debian packages of the components of cmake/SheafInstall.cmake.
#
#   sheaf-runtime   sheaf-run: runs plans; needs no LLVM
#   sheaf           the compiler and all verbs, with manual page and completions
#   libsheaf-dev    static libraries, headers, find_package(sheaf)
#
# Shared libraries that they need are found by dpkg-shlibdeps, so a package fits the release that it is built on. What only packages
# hold (copyright, changelog, compressed pages) is left out of `cmake --install`.
if(NOT TARGET sheaf OR NOT TARGET sheaf-about)
  return()
endif()
find_program(GZIP gzip)
set(folder ${CMAKE_BINARY_DIR}/debian)

# The text that a page, LICENSE and CHANGELOG.md become.
file(CONFIGURE OUTPUT ${folder}/changelog @ONLY CONTENT "sheaf (@PROJECT_VERSION@) unstable; urgency=medium

  * See CHANGELOG.md in /usr/share/doc/sheaf, or the project's pages.

 -- The sheaf authors <sheaf@example.com>  Sun, 22 Nov 2026 12:00:00 +0000
")
file(CONFIGURE OUTPUT ${folder}/copyright @ONLY CONTENT "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: sheaf
Comment: sheaf contains parts of what it is built with; THIRD_PARTY.md in this folder names them and their licences.

Files: *
Copyright: 2026 The sheaf authors
License: Apache-2.0
 On Debian systems, the text of the Apache License, version 2.0, is in /usr/share/common-licenses/Apache-2.0.
")
# libMLIR lies in LLVM's own folder, which the program has to name; Debian's own programs that use it do likewise.
file(CONFIGURE OUTPUT ${folder}/sheaf.overrides @ONLY CONTENT "# libMLIR of Debian lies in LLVM's own folder
sheaf: custom-library-search-path
")

# Installs FILE.gz as part of a package.
function(install_compressed file destination component)
  get_filename_component(name ${file} NAME)
  set(compressed ${folder}/${name}.gz)
  install(CODE "execute_process(COMMAND ${GZIP} -9nc ${file} OUTPUT_FILE ${compressed} COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${compressed} DESTINATION ${destination} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

foreach(pair runtime:sheaf-runtime compiler:sheaf development:libsheaf-dev)
  string(REGEX MATCH "(.*):(.*)" ignored ${pair})
  set(component ${CMAKE_MATCH_1})
  set(package ${CMAKE_MATCH_2})
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/${package})
  install(FILES ${folder}/copyright THIRD_PARTY.md DESTINATION ${documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install_compressed(${folder}/changelog ${documents} ${component})
  string(TOUPPER ${component} name)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package})
endforeach()
install_compressed(${CMAKE_BINARY_DIR}/about/sheaf.1 ${CMAKE_INSTALL_MANDIR}/man1 compiler)
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sheaf COMPONENT compiler EXCLUDE_FROM_ALL)
install(FILES ${folder}/sheaf.overrides RENAME sheaf DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
  COMPONENT compiler EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sheaf)
set(CPACK_PACKAGE_VENDOR "The sheaf authors")
set(CPACK_PACKAGE_CONTACT "The sheaf authors <sheaf@example.com>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime compiler development)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "runs execution plans of data-parallel models
 sheaf-run executes plans that the compiler of package sheaf wrote, on CPU
 devices and GPUs.")
set(CPACK_COMPONENT_COMPILER_DESCRIPTION "compiles data-parallel models to execution plans
 A static-graph compiler and executor: a model with PyTorch's layer names
 becomes a plan in which every scatter, replicate, gather and transfer is
 explicit. The plan is run on any list of CPU devices and GPUs, shown, checked
 and priced.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "libraries and headers of sheaf
 The C++ interface: run, train, inspect and compile models from a program of one's own.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# What find_package(sheaf) looks for; and for COMPONENTS compiler, what MLIR's and LLD's CMake packages name.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libdnnl-dev, nlohmann-json3-dev, zlib1g-dev, libjpeg62-turbo-dev, libpng-dev, ocl-icd-opencl-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libmlir-19-dev, mlir-19-tools, llvm-19-dev, liblld-19-dev, libzstd-dev")
include(CPack)
