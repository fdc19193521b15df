# bwmm_embed(<out.cpp> <function> FILES <files>): a C++ file in the build tree that defines
#   std::span<const std::pair<std::string_view, std::string_view>> bwmm::<function>()
# with the stem and the text of each file. It is made again when one of the files changes.
function(bwmm_embed out function)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  set(entries "")
  set(count 0)
  foreach(file IN LISTS ARG_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    cmake_path(GET file STEM LAST_ONLY stem)
    string(APPEND entries "    {\"${stem}\", R\"embedded(${text})embedded\"},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
"#include <span>
#include <string_view>
#include <utility>

namespace bwmm {
namespace {

constexpr std::pair<std::string_view, std::string_view> kTexts[@count@] = {
@entries@};

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> @function@();
std::span<const std::pair<std::string_view, std::string_view>> @function@() { return kTexts; }

}  // namespace bwmm
")
endfunction()
