# kvedit_add_rule_pack(NAME SOURCE… [OUTPUT_DIRECTORY DIR])
#
# Builds the rule pack NAME.so as target NAME from C++ sources that use <kvedit/rule.hpp>. The pack
# exports its entry and nothing else, needs no kvedit library, and lies in DIR (default: the current
# binary directory).
function(kvedit_add_rule_pack name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIRECTORY" "SOURCES")
  set(sources ${arg_UNPARSED_ARGUMENTS} ${arg_SOURCES})
  if(NOT sources)
    message(FATAL_ERROR "kvedit_add_rule_pack(${name}): no sources")
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()

  add_library(${name} MODULE ${sources})
  target_link_libraries(${name} PRIVATE kvedit::sdk)
  target_compile_features(${name} PRIVATE cxx_std_17)
  set_target_properties(${name} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} SUFFIX .so
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${arg_OUTPUT_DIRECTORY})

  # Symbols that the loader would make one for the whole process would mix up packs.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/${name}.exports)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: kvedit_rule_pack_v1; local: *; };\n")
  target_link_options(${name} PRIVATE LINKER:--version-script=${exports})
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${exports})

  # A symbol that is nowhere shall fail here, not in the engine. clang leaves its sanitizers'
  # functions to the program, so this cannot be asked for together with them.
  get_directory_property(link_options LINK_OPTIONS)
  set(flags "${CMAKE_CXX_FLAGS} ${CMAKE_MODULE_LINKER_FLAGS} ${link_options}")
  if(NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND flags MATCHES "-fsanitize"))
    target_link_options(${name} PRIVATE LINKER:-z,defs)
  endif()

  # The test that runs `kvedit check` on the pack belongs here as soon as the program has it.
endfunction()
