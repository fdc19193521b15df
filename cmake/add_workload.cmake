# bwmm_add_workload(<target> SOURCES <files>): an executable called bwmm, in the current binary
# directory, that has the workloads these files register beside those of bwmm itself. Once a folder.
function(bwmm_add_workload target)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "bwmm_add_workload(${target}): no SOURCES, at least one is needed")
  endif()
  get_property(other DIRECTORY PROPERTY BWMM_WORKLOAD)
  if(other)
    message(FATAL_ERROR "bwmm_add_workload(${target}): ${other} makes the bwmm of this folder, "
      "allowed once: list all SOURCES there, or call it in a folder of its own")
  endif()
  set_property(DIRECTORY PROPERTY BWMM_WORKLOAD ${target})
  add_executable(${target} ${ARG_SOURCES})
  # A registered workload hangs on no symbol, so all of their library is linked.
  target_link_libraries(${target} PRIVATE
    bwmm::main bwmm::cli $<LINK_LIBRARY:WHOLE_ARCHIVE,bwmm::registered_workloads>)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME bwmm RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} CXX_EXTENSIONS OFF)
endfunction()
