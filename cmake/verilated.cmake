# bwmm_verilated(<target> TOP <module> PREFIX <class> [PARAMS <-GName=value>...]
# [SOURCES <more files>] [ARGS <args>] [TRACE] [BENCH]): a static library with the Verilated model of
# one module of rtl/. BENCH: only a bench runs it, so it is not installed.
#
# --unroll-count 1 keeps the loops over columns rolled, so that the C++ compiler vectorizes them;
# --x-initial unique lets a run choose what uninitialised state holds.
find_package(verilator REQUIRED HINTS $ENV{VERILATOR_ROOT} /usr/share/verilator)

file(STRINGS ${PROJECT_SOURCE_DIR}/rtl/bwmm.f BWMM_RTL_FILES)
list(TRANSFORM BWMM_RTL_FILES PREPEND ${PROJECT_SOURCE_DIR}/)

function(bwmm_verilated target)
  cmake_parse_arguments(ARG "TRACE;BENCH" "TOP;PREFIX" "PARAMS;ARGS;SOURCES" ${ARGN})
  add_library(${target} STATIC)
  set(trace)
  if(ARG_TRACE)
    set(trace TRACE_FST TRACE_STRUCTS)
  endif()
  verilate(${target} ${trace}
    TOP_MODULE ${ARG_TOP}
    PREFIX ${ARG_PREFIX}
    SOURCES ${BWMM_RTL_FILES} ${ARG_SOURCES}
    DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target}
    VERILATOR_ARGS -O3 --unroll-count 1 --x-assign fast --x-initial unique
                   ${PROJECT_SOURCE_DIR}/rtl/lint.vlt ${ARG_PARAMS} ${ARG_ARGS})
  target_compile_options(${target} PRIVATE -w)
  # Verilator's headers do not meet our warning level.
  get_target_property(includes ${target} INTERFACE_INCLUDE_DIRECTORIES)
  set_target_properties(${target} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "$<BUILD_INTERFACE:${includes}>"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "$<BUILD_INTERFACE:${includes}>")
  if(NOT ARG_BENCH)
    string(REPLACE bwmm_ "" name ${target})
    bwmm_install(${name})
  endif()
endfunction()
