# Settings every target of the project shares.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_EXTENSIONS OFF)

add_library(kvedit_settings INTERFACE)
target_compile_features(kvedit_settings INTERFACE cxx_std_20)
if(KVEDIT_DEVELOPER)
  # g++ 12 sees overlapping copies in std::string that are none: -Wno-restrict.
  target_compile_options(kvedit_settings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual>)
endif()

# Reads beyond a vector or of an empty optional stop there, instead of going on with what they found.
if(KVEDIT_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
if(KVEDIT_SANITIZE)
  add_compile_options(-fsanitize=${KVEDIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KVEDIT_SANITIZE})
  # g++ sees unset values in the code that the sanitizers put in.
  target_compile_options(kvedit_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# kvedit_room(NAME SOURCES … [LIBRARIES …]): one object library for each folder of core/src.
function(kvedit_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_library(kvedit_${name} OBJECT ${arg_SOURCES})
  target_include_directories(kvedit_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/core/include ${PROJECT_SOURCE_DIR}/core/src ${PROJECT_SOURCE_DIR}/sdk/include)
  target_link_libraries(kvedit_${name} PUBLIC kvedit_settings ${arg_LIBRARIES})
endfunction()
