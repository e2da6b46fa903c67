# The CUDA backend's vendor part (runtime/cuda/vendor, runtime/cuda/kernels): built wherever CUDA's, cuDNN's and NCCL's headers,
# nvcc and cudnn-frontend's headers are. It links none of their libraries: they are opened at run time.
set(SHEAF_CUDA AUTO CACHE STRING "Build the CUDA backend: ON, OFF, or AUTO (where its headers are)")
set_property(CACHE SHEAF_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SHEAF_HAVE_CUDA OFF)
if(SHEAF_CUDA)
  find_program(SHEAF_NVCC nvcc HINTS /usr/local/cuda/bin)
  find_path(SHEAF_CUDA_INCLUDE cuda.h HINTS /usr/local/cuda/include)
  find_path(SHEAF_CUDNN_INCLUDE cudnn.h HINTS /usr/local/cuda/include)
  find_path(SHEAF_NCCL_INCLUDE nccl.h HINTS /usr/local/cuda/include)
  # tools/setup.sh unpacks the wheel there.
  find_path(SHEAF_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
            HINTS ${CMAKE_SOURCE_DIR}/.packages/cudnn-frontend/include)
  set(missing)
  foreach(part NVCC CUDA_INCLUDE CUDNN_INCLUDE NCCL_INCLUDE CUDNN_FRONTEND_INCLUDE)
    if(NOT SHEAF_${part})
      list(APPEND missing ${part})
    endif()
  endforeach()
  if(NOT missing)
    set(SHEAF_HAVE_CUDA ON)
  elseif(NOT SHEAF_CUDA STREQUAL AUTO)
    message(FATAL_ERROR "the CUDA backend lacks ${missing}: install CUDA 13, cuDNN 9, NCCL and (tools/setup.sh) cudnn-frontend")
  endif()
endif()
message(STATUS "CUDA backend: ${SHEAF_HAVE_CUDA} ${missing}")

# Adds the project's own kernels to `target`: each .cu compiled to PTX for sm_80 and later, as text in a generated source. Where
# nvcc isn't there the source has none, and what asks for them is told so. (The C++ compiler only preprocesses.)
function(sheaf_embed_kernels target folder)
  file(GLOB kernels CONFIGURE_DEPENDS ${folder}/*.cu)
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.cuh)
  set(built ${CMAKE_CURRENT_BINARY_DIR}/cuda/kernels)
  file(MAKE_DIRECTORY ${built})
  set(ptx "")
  if(SHEAF_CUDA AND SHEAF_NVCC)
    foreach(kernel ${kernels})
      get_filename_component(name ${kernel} NAME_WE)
      add_custom_command(OUTPUT ${built}/${name}.ptx
        COMMAND ${SHEAF_NVCC} -ccbin ${CMAKE_CXX_COMPILER} -allow-unsupported-compiler -std=c++17 -ptx -arch=compute_80 -o ${built}/${name}.ptx ${kernel}
        DEPENDS ${kernel} ${headers} COMMENT "Compiling ${name}.cu to PTX" VERBATIM)
      list(APPEND ptx ${built}/${name}.ptx)
    endforeach()
  endif()
  add_custom_command(OUTPUT ${built}/embedded.cpp
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${built}/embedded.cpp "-DPTX=${ptx}" -P ${CMAKE_SOURCE_DIR}/cmake/EmbedPtx.cmake
    DEPENDS ${ptx} ${CMAKE_SOURCE_DIR}/cmake/EmbedPtx.cmake VERBATIM)
  target_sources(${target} PRIVATE ${built}/embedded.cpp)
endfunction()
