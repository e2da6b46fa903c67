# Installs a build, builds the example project against it, and runs it. Run by CTest with
#   cmake -DBUILD=… -DSOURCE=… -DCXX=… -DPLANS_FROM=… -P check_package.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexit ${status}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

set(work ${BUILD}/package-test)
file(REMOVE_RECURSE ${work})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
# Away from the sources, so that nothing but the installed files can serve.
file(COPY ${SOURCE}/tests/package/CMakeLists.txt ${SOURCE}/tests/package/example.cpp DESTINATION ${work}/source)
run(${CMAKE_COMMAND} -S ${work}/source -B ${work}/build -G Ninja -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/prefix/bin/sheaf compile ${SOURCE}/models/tutorial.json -o ${work}/tutorial.plan)
run(${work}/build/example ${work}/tutorial.plan 31)
if(NOT output STREQUAL "outside: 31 2\nthe same on two devices\n")
  message(FATAL_ERROR "the example printed:\n${output}")
endif()
run(${work}/prefix/bin/sheaf-run ${work}/tutorial.plan --devices cpu:0 --input x=random:3)
