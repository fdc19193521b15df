# Shared target settings. Every layer is one static library named bwmm_<layer>.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
# Test oracles and property tests: PkgConfig::MPFR, rapidcheck_gtest.
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
find_package(rapidcheck REQUIRED)

include(${CMAKE_CURRENT_LIST_DIR}/install.cmake)

add_library(bwmm_options INTERFACE)
target_include_directories(bwmm_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/bwmm>)
target_compile_options(bwmm_options INTERFACE
  $<BUILD_INTERFACE:-Wall -Wextra -Werror> -ffp-contract=off)
target_compile_features(bwmm_options INTERFACE cxx_std_20)
bwmm_install(options)
if(BWMM_SANITIZE)
  # g++ 12 takes std::regex under the address sanitizer for a use of uninitialised memory.
  target_compile_options(bwmm_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-maybe-uninitialized)
  target_link_options(bwmm_options INTERFACE -fsanitize=address,undefined)
endif()

# A test's own code runs for a moment and takes the compiler long.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(BWMM_TEST_OPTIONS -O1)
endif()

# Debian's SystemC 2.3.4 is built as C++17 and encodes that in a symbol every user must match.
pkg_check_modules(SYSTEMC REQUIRED IMPORTED_TARGET systemc)
add_library(bwmm_systemc INTERFACE)
target_link_libraries(bwmm_systemc INTERFACE PkgConfig::SYSTEMC)
target_compile_definitions(bwmm_systemc INTERFACE SC_CPLUSPLUS=201703L)
bwmm_install(systemc)

# Parsing the standard library and GoogleTest anew is half of what a small file costs to compile. Each
# file still includes what it uses: the debug and sanitize presets build without this.
option(BWMM_PRECOMPILED_HEADERS "Precompile the headers nearly every file includes" ON)
if(BWMM_PRECOMPILED_HEADERS)
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  set(headers <fmt/format.h> <algorithm> <array> <cmath> <cstdint> <functional> <memory> <optional>
    <span> <string> <string_view> <utility> <variant> <vector>)
  add_library(bwmm_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(bwmm_precompiled PRIVATE bwmm_options fmt::fmt)
  target_precompile_headers(bwmm_precompiled PRIVATE ${headers})
  add_library(bwmm_precompiled_test OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(bwmm_precompiled_test PRIVATE bwmm_options fmt::fmt GTest::gmock)
  target_compile_options(bwmm_precompiled_test PRIVATE ${BWMM_TEST_OPTIONS})
  target_precompile_headers(bwmm_precompiled_test PRIVATE
    ${headers} <gmock/gmock.h> <gtest/gtest.h>)
endif()
function(bwmm_precompile target headers)
  if(BWMM_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

# bwmm_layer(<name> SOURCES <files> LINK <targets>): one layer of the model. A layer without
# sources is header-only.
function(bwmm_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  if(ARG_SOURCES)
    add_library(bwmm_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(bwmm_${name} PUBLIC bwmm_options fmt::fmt ${ARG_LINK})
    bwmm_precompile(bwmm_${name} bwmm_precompiled)
  else()
    add_library(bwmm_${name} INTERFACE)
    target_link_libraries(bwmm_${name} INTERFACE bwmm_options fmt::fmt ${ARG_LINK})
  endif()
  bwmm_install(${name})
endfunction()

# A test makes and frees machines of some 100 MB by the dozen. Memory that stays with the process, in
# huge pages, saves a third of its time.
string(JOIN ":" BWMM_TEST_MALLOC "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4294967296"
  "glibc.malloc.trim_threshold=8589934592" "glibc.malloc.hugetlb=1")

# bwmm_test(<layer> <unit> LINK <targets> [SOURCES <files>] [ARGS <args>]): one GoogleTest binary,
# <unit>_test.cpp by default, registered in ctest as <layer>.<unit>.
function(bwmm_test layer unit)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;ARGS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${unit}_test.cpp)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_executable(${layer}_${unit}_test ${ARG_SOURCES})
  target_link_libraries(${layer}_${unit}_test PRIVATE
    ${ARG_LINK} fmt::fmt GTest::gmock GTest::gtest_main)
  target_compile_options(${layer}_${unit}_test PRIVATE ${BWMM_TEST_OPTIONS})
  bwmm_precompile(${layer}_${unit}_test bwmm_precompiled_test)
  add_test(NAME ${layer}.${unit} COMMAND ${layer}_${unit}_test ${ARG_ARGS})
  set_tests_properties(${layer}.${unit} PROPERTIES TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "RC_PARAMS=seed=20260101;${BWMM_TEST_MALLOC}")  # property tests repeat exactly
endfunction()
