# What `cmake --install` brings: the binary, libraries, headers, presets, and a CMake package.
#
#   find_package(bwmm REQUIRED)
#   bwmm_add_workload(my_bwmm SOURCES my_kernel.cpp)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(BWMM_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/bwmm)

# bwmm_install(<name>): the target bwmm_<name> is bwmm::<name>, here and in the installed package.
function(bwmm_install name)
  add_library(bwmm::${name} ALIAS bwmm_${name})
  set_target_properties(bwmm_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS bwmm_${name} EXPORT bwmm ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/bwmm)
endfunction()

# An include path is the same as in the tree.
foreach(room model kernels host workloads replay cli)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bwmm
    FILES_MATCHING PATTERN "*.h")
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/model/presets/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bwmm/machines)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/host/presets/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bwmm/models)

install(FILES ${PROJECT_SOURCE_DIR}/docs/bwmm.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/cli/completion.bash RENAME bwmm
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/bwmm)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/bwmmConfig.cmake.in
  ${PROJECT_BINARY_DIR}/bwmmConfig.cmake INSTALL_DESTINATION ${BWMM_PACKAGE})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/bwmmConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(EXPORT bwmm NAMESPACE bwmm:: FILE bwmmTargets.cmake DESTINATION ${BWMM_PACKAGE})
install(
  FILES ${PROJECT_BINARY_DIR}/bwmmConfig.cmake ${PROJECT_BINARY_DIR}/bwmmConfigVersion.cmake
        ${CMAKE_CURRENT_LIST_DIR}/add_workload.cmake
  DESTINATION ${BWMM_PACKAGE})
