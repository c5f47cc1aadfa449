# Tests of the host CUDA runtime and cuBLAS: each a program on a library of the layers, with the device code they share.
# Included twice by CMakeLists.txt: where the libraries do not exist the tests are counted skips.
if(NOT TLM_HOST)
  foreach(name cudart streams cublas cublas_checked)
    cuda_host_test(${name} - ${TLM_HOST_WHY})
  endforeach()
  return()
endif()

tlm_host_objects(cudart_kernels SOURCES test_kernels.cu)
set_source_files_properties(test_kernels.cu PROPERTIES LANGUAGE CXX OBJECT_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cuda_host.h)
target_compile_options(cudart_kernels PRIVATE -Wno-unknown-pragmas -x c++ -include ${CMAKE_CURRENT_SOURCE_DIR}/cuda_host.h)

# the real library, whose texts of errors are compared; it is not linked
find_file(TLM_REAL_CUDART NAMES libcudart.so PATHS ${CUDAToolkit_LIBRARY_DIR} NO_DEFAULT_PATH)

# cuda_host_cudart(name source library): cuda/<name>
function(cuda_host_cudart name source library)
  tlm_host_objects(${name}_test SOURCES ${source})
  target_include_directories(${name}_test PRIVATE ${CMOCKA_INCLUDE_DIRS})
  if(TLM_REAL_CUDART)
    target_compile_definitions(${name}_test PRIVATE TLM_TEST_CUDART="${TLM_REAL_CUDART}")
  endif()
  add_executable(cuda_${name} $<TARGET_OBJECTS:${name}_test> $<TARGET_OBJECTS:cudart_kernels>)
  set_target_properties(cuda_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_options(cuda_${name} PRIVATE ${sanitize})
  target_link_libraries(cuda_${name} PRIVATE ${library} PkgConfig::CMOCKA)
  cuda_host_test(${name} cuda_${name})
endfunction()

cuda_host_cudart(cudart test_cudart.cpp tlm_host_ptx)
cuda_host_cudart(streams test_streams.cpp tlm_host_plain)
cuda_host_cudart(cublas test_cublas.cpp tlm_host_plain)
if(TLMC_SANITIZE)
  cuda_host_test(cublas_checked - "the checker is not for sanitized builds")
else()
  cuda_host_cudart(cublas_checked test_cublas.cpp tlm_host_checked)
endif()
