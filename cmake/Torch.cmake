# LibTorch out of the PyPI wheel, described by hand: the wheel's own TorchConfig.cmake demands a CUDA toolkit with nvcc,
# and we want two sets of libraries, with and without CUDA.
if(NOT DDP_PYTHON_ENV)
  message(FATAL_ERROR "DDP_PYTHON_ENV is not set: run scripts/build, or pass the virtual environment that scripts/setup "
                      "printed (or -DDDP_BUILD_WORKER=OFF)")
endif()
file(GLOB _site LIST_DIRECTORIES true ${DDP_PYTHON_ENV}/lib/python3*/site-packages)
list(GET _site 0 DDP_SITE_PACKAGES)
set(_torch ${DDP_SITE_PACKAGES}/torch)
set(_nvidia ${DDP_SITE_PACKAGES}/nvidia)
if(NOT EXISTS ${_torch}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no torch wheel in ${DDP_PYTHON_ENV}: run scripts/setup")
endif()

# Headers, and what every torch user links. The CPU library still needs libcudart and libcupti at run time (DESIGN 12),
# which lie in the wheel's sibling packages.
add_library(torch_cpu INTERFACE)
target_include_directories(torch_cpu SYSTEM INTERFACE ${_torch}/include ${_torch}/include/torch/csrc/api/include)
# ProcessGroupGloo.hpp is empty without this macro.
target_compile_definitions(torch_cpu INTERFACE USE_C10D_GLOO)
target_link_directories(torch_cpu INTERFACE ${_torch}/lib)
target_link_libraries(torch_cpu INTERFACE torch_cpu c10)
target_link_options(torch_cpu INTERFACE
  -Wl,-rpath,${_torch}/lib -Wl,-rpath,${_nvidia}/cu13/lib -Wl,-rpath-link,${_nvidia}/cu13/lib)

add_library(torch_cuda INTERFACE)
target_include_directories(torch_cuda SYSTEM INTERFACE
  ${_nvidia}/cu13/include ${_nvidia}/cu13/include/cccl ${_nvidia}/nccl/include)
target_compile_definitions(torch_cuda INTERFACE USE_C10D_NCCL USE_CUDA)
target_link_libraries(torch_cuda INTERFACE torch_cpu
  -Wl,--no-as-needed torch_cuda c10_cuda ${_nvidia}/cu13/lib/libcudart.so.13 -Wl,--as-needed)
set(_rpath_link)
foreach(dir cu13 nccl cudnn cusparselt nvshmem)
  list(APPEND _rpath_link -Wl,-rpath-link,${_nvidia}/${dir}/lib)
endforeach()
target_link_options(torch_cuda INTERFACE ${_rpath_link} -Wl,--allow-shlib-undefined)
