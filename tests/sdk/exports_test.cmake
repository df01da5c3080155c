execute_process(COMMAND ${NM} --dynamic --defined-only --format=posix ${PACK}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES "^kvedit_rule_pack_v1 T [^\n]*\n$")
  message(FATAL_ERROR "${PACK} exports\n${symbols}")
endif()
execute_process(COMMAND ${NM} --format=posix ${PACK} OUTPUT_VARIABLE symbols
  COMMAND_ERROR_IS_FATAL ANY)
if(symbols MATCHES "[^\n]* u [^\n]*")
  message(FATAL_ERROR "${PACK} has a unique symbol: ${CMAKE_MATCH_0}")
endif()
