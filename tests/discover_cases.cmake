# Run after a Catch2 program was linked: asks it for its cases and writes a ctest file with a test for
# each. Catch2's own script cannot take a semicolon in a name.
#   -DPROGRAM=… -DPREFIX=… -DLABEL=… -DTIMEOUT=… -DWORKING_DIRECTORY=… -DOUTPUT=… -P discover_cases.cmake
# The result of Catch2 here is the number of cases; a crash is text or negative.
execute_process(COMMAND ${PROGRAM} --list-test-names-only OUTPUT_VARIABLE names RESULT_VARIABLE count
  WORKING_DIRECTORY ${WORKING_DIRECTORY})
if(NOT count MATCHES "^[0-9]+$" OR names STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} lists no cases: ${count}\n${names}")
endif()

set(tests "")
while(names MATCHES "^([^\n]*)\n(.*)$")
  set(name "${CMAKE_MATCH_1}")
  set(names "${CMAKE_MATCH_2}")
  if(NOT name STREQUAL "")
    # The name as Catch2 selects it; one that selects nothing fails, by --warn NoTests.
    string(REGEX REPLACE "([][,\\\\])" "\\\\\\1" selected "${name}")
    set(test "[==[${PREFIX}: ${name}]==]")
    string(APPEND tests
      "add_test(${test} [==[${PROGRAM}]==] [==[${selected}]==] --warn NoTests)\n"
      "set_tests_properties(${test} PROPERTIES LABELS ${LABEL} TIMEOUT ${TIMEOUT}"
      " WORKING_DIRECTORY [==[${WORKING_DIRECTORY}]==])\n")
  endif()
endwhile()
file(WRITE ${OUTPUT} "${tests}")
