# run(COMMAND...) runs a command that must end well; what it said is in `output`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexit ${status}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()
