# LibTorch out of the PyPI wheel, described by hand: the wheel's own TorchConfig.cmake demands a CUDA toolkit with nvcc,
# and we want two sets of libraries, with and without CUDA.
if(NOT DDP_PYTHON_ENV)
  message(FATAL_ERROR "DDP_PYTHON_ENV is not set: run scripts/build, or pass the virtual environment that scripts/setup "
                      "printed (or -DDDP_BUILD_WORKER=OFF)")
endif()
file(GLOB _site LIST_DIRECTORIES true ${DDP_PYTHON_ENV}/lib/python3*/site-packages)
if(NOT _site)
  message(FATAL_ERROR "no Python environment in '${DDP_PYTHON_ENV}': run scripts/setup")
endif()
list(GET _site 0 _site)
set(_torch ${_site}/torch)
set(_nvidia ${_site}/nvidia)
if(NOT EXISTS ${_torch}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no torch wheel in ${DDP_PYTHON_ENV}: run scripts/setup")
endif()

# For libraries that include torch; the executable decides what to link.
add_library(ddp_torch_headers INTERFACE)
target_include_directories(ddp_torch_headers SYSTEM INTERFACE
  ${_torch}/include ${_torch}/include/torch/csrc/api/include)

# The CPU libraries. They still need libcudart and libcupti at run time (DESIGN 12), from the wheel's sibling packages.
add_library(ddp_torch INTERFACE)
target_link_libraries(ddp_torch INTERFACE ddp_torch_headers ${_torch}/lib/libtorch_cpu.so ${_torch}/lib/libc10.so)
target_link_options(ddp_torch INTERFACE
  -Wl,-rpath,${_torch}/lib -Wl,-rpath,${_nvidia}/cu13/lib -Wl,-rpath-link,${_nvidia}/cu13/lib)

# ProcessGroupNCCL.hpp is empty without USE_C10D_NCCL.
add_library(ddp_torch_cuda INTERFACE)
target_include_directories(ddp_torch_cuda SYSTEM INTERFACE
  ${_nvidia}/cu13/include ${_nvidia}/cu13/include/cccl ${_nvidia}/nccl/include)
target_compile_definitions(ddp_torch_cuda INTERFACE USE_C10D_NCCL USE_CUDA)
target_link_libraries(ddp_torch_cuda INTERFACE ddp_torch
  -Wl,--no-as-needed ${_torch}/lib/libtorch_cuda.so ${_torch}/lib/libc10_cuda.so ${_nvidia}/cu13/lib/libcudart.so.13
  -Wl,--as-needed)
set(_rpath_link)
foreach(dir cu13 nccl cudnn cusparselt nvshmem)
  list(APPEND _rpath_link -Wl,-rpath-link,${_nvidia}/${dir}/lib)
endforeach()
target_link_options(ddp_torch_cuda INTERFACE ${_rpath_link} -Wl,--allow-shlib-undefined)
