# The Python package as it can be imported from the build tree: build/PRESET/python/kvedit has the
# compiled core, and links to the sources in python/src and to the program; its tests.
# Left out when there is no Python 3.11 with headers, and under sanitizers, which would have to be
# loaded into the interpreter first.
if(KVEDIT_SANITIZE)
  return()
endif()
find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module)
if(NOT Python_FOUND)
  message(STATUS "kvedit: the Python package is left out: no Python 3.11 with headers found (Debian: "
    "python3-dev)")
  return()
endif()
message(STATUS "kvedit: Python package for ${Python_EXECUTABLE} (${Python_VERSION})")
add_subdirectory(python/binding)

set(KVEDIT_PYTHON_PACKAGE ${PROJECT_BINARY_DIR}/python/kvedit)
file(GLOB_RECURSE modules CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python/src/kvedit
  python/src/kvedit/*.py python/src/kvedit/*.pyi python/src/kvedit/py.typed)
foreach(module IN LISTS modules)
  cmake_path(GET module PARENT_PATH folder)
  file(MAKE_DIRECTORY ${KVEDIT_PYTHON_PACKAGE}/${folder})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/src/kvedit/${module}
    ${KVEDIT_PYTHON_PACKAGE}/${module} SYMBOLIC)
endforeach()
file(MAKE_DIRECTORY ${KVEDIT_PYTHON_PACKAGE}/bin)
file(CREATE_LINK ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/kvedit ${KVEDIT_PYTHON_PACKAGE}/bin/kvedit SYMBOLIC)
add_custom_target(python_package ALL DEPENDS kvedit_python kvedit_program standard_rules)

# The environment of scripts/python_env.sh; else a Python that has pytest anyway.
foreach(python IN ITEMS ${PROJECT_SOURCE_DIR}/build/python-env/bin/python ${Python_EXECUTABLE})
  execute_process(COMMAND ${python} -c "import pytest, numpy" RESULT_VARIABLE failed
    OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    set(test_python ${python})
    break()
  endif()
endforeach()
if(NOT test_python)
  message(STATUS "kvedit: no tests of the Python package: no pytest and numpy "
    "(scripts/python_env.sh installs them)")
  return()
endif()
file(GLOB tests CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python/tests python/tests/test_*.py)
foreach(test IN LISTS tests)
  string(REGEX REPLACE "^test_(.*)\\.py$" "\\1" subject ${test})
  string(REPLACE "_" " " subject ${subject})
  add_test(NAME "python: ${subject}"
    COMMAND ${test_python} -B -m pytest -q -p no:cacheprovider -c pyproject.toml tests/${test}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/python)
  set_tests_properties("python: ${subject}" PROPERTIES LABELS python TIMEOUT 600
    ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;KVEDIT_TEST_DATA=${PROJECT_SOURCE_DIR}/tests/registrations")
endforeach()
