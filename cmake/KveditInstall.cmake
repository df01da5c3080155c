# Installs host, program, SDK and the CMake package; plugins/ installs the standard rules. Everything
# finds everything else by relative paths, so the prefix can be moved.
include(CMakePackageConfigHelpers)

set(KVEDIT_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/kvedit)
file(RELATIVE_PATH kvedit_lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})

install(TARGETS kvedit EXPORT kveditHostTargets)
install(DIRECTORY core/include/ sdk/include/ TYPE INCLUDE)
set_target_properties(kvedit_program PROPERTIES INSTALL_RPATH "$ORIGIN/${kvedit_lib_from_bin}")
install(TARGETS kvedit_program)

set_target_properties(kvedit_sdk PROPERTIES EXPORT_NAME sdk)
install(TARGETS kvedit_sdk EXPORT kveditSdkTargets)

set(kvedit_export_sets Host Sdk)
if(TARGET kvedit_torch)
  set_target_properties(kvedit_torch PROPERTIES EXPORT_NAME torch
    INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS kvedit_torch EXPORT kveditTorchTargets)
  install(DIRECTORY core/torch/include/ TYPE INCLUDE)
  install(FILES cmake/KveditLibTorch.cmake DESTINATION ${KVEDIT_INSTALL_CMAKE})
  list(APPEND kvedit_export_sets Torch)
endif()
foreach(set IN LISTS kvedit_export_sets)
  install(EXPORT kvedit${set}Targets NAMESPACE kvedit:: DESTINATION ${KVEDIT_INSTALL_CMAKE})
endforeach()

configure_package_config_file(cmake/kveditConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/kveditConfig.cmake
  INSTALL_DESTINATION ${KVEDIT_INSTALL_CMAKE} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/kveditConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/kveditConfig.cmake ${PROJECT_BINARY_DIR}/cmake/kveditConfigVersion.cmake
  cmake/KveditRulePack.cmake
  DESTINATION ${KVEDIT_INSTALL_CMAKE})
