# Fuzzing. The `fuzz` preset (clang, libFuzzer, AddressSanitizer) builds the fuzzers; every other one builds, of the same
# sources, programs that only replay the checked-in corpus, which holds every input that ever failed.
option(DDP_FUZZ "Build libFuzzer programs; needs clang" OFF)
if(DDP_FUZZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "DDP_FUZZ needs clang: use the fuzz preset")
endif()
if(DDP_FUZZ)
  # Everything is instrumented, so that libFuzzer sees where the readers branch.
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-recover=all)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# ddp_fuzz(NAME SOURCES x_fuzz.cc ... DEPS target ...): the sources define LLVMFuzzerTestOneInput; the corpus is the folder
# corpus/NAME beside them. Makes the program fuzz_NAME, and the test fuzz_NAME that replays the corpus.
function(ddp_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  if(NOT IS_DIRECTORY ${corpus})
    message(FATAL_ERROR "the fuzzer ${name} has no corpus: ${corpus} is missing")
  endif()
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_DEPS} ddp_options)
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-bin)
  if(DDP_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} -runs=0 ${corpus})
  else()
    target_sources(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/fuzz_replay.cc)
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} ${corpus})
  endif()
  file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" room ${room})
  set_tests_properties(fuzz_${name} PROPERTIES LABELS "unit;${room};fuzz" TIMEOUT 120)
endfunction()
