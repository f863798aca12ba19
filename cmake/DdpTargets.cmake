# The few functions by which every room declares its targets, so that warnings and sanitizers are the same everywhere.

add_library(ddp_options INTERFACE)
# -Wrestrict is wrong about operator+ of strings in GCC 12 (GCC bug 105329).
target_compile_options(ddp_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_include_directories(ddp_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(ddp_options INTERFACE DDP_VERSION="${PROJECT_VERSION}")
if(DDP_SANITIZE)
  add_compile_options(-fsanitize=${DDP_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DDP_SANITIZE})
endif()

# ddp_library(NAME SOURCES a.cc ... DEPS target ...)
function(ddp_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ddp_options)
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
endfunction()

# ddp_executable(NAME SOURCES a.cc ... DEPS target ...)
function(ddp_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ddp_options)
endfunction()

# ddp_test(NAME SOURCES a_test.cc ... DEPS target ...): a GoogleTest program, one ctest entry, label = the room's folder.
function(ddp_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main ddp_options)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-bin)
  add_test(NAME ${name} COMMAND ${name})
  file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" room ${room})
  set_tests_properties(${name} PROPERTIES LABELS "unit;${room}" TIMEOUT 300
    ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/tsan.supp ignore_noninstrumented_modules=1")
endfunction()
