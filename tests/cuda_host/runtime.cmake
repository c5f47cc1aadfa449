# Tests of runtime/cuda_*.c on the host CUDA runtime: buffers, sessions of a toy model in the shape of emitted
# code, products through cuBLAS.
# Included by CMakeLists.txt: where the libraries do not exist the tests are counted skips.

# The texts of single-file output compile in one translation unit with libtlm, and apart from it.
function(cuda_one_text name)
  set(text "#define _POSIX_C_SOURCE 200809L\n")
  foreach(part ${ARGN})
    string(APPEND text "#include \"${part}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.c CONTENT "${text}")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
  tlmc_warnings(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
  if(CUDAToolkit_FOUND)
    target_include_directories(${name} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  endif()
endfunction()
cuda_one_text(text_stub libtlm_cuda_stub.inc)
cuda_one_text(text_stub_libtlm libtlm.inc libtlm_cuda_stub.inc)
if(CUDAToolkit_FOUND)
  cuda_one_text(text_native libtlm_cuda.inc)
  cuda_one_text(text_native_libtlm libtlm.inc libtlm_cuda.inc)
endif()

if(NOT TLM_HOST)
  foreach(name buffer session product)
    cuda_host_test(${name} - ${TLM_HOST_WHY})
  endforeach()
  return()
endif()

tlm_host_objects(session_kernels SOURCES test_session.cu)
set_source_files_properties(test_session.cu PROPERTIES LANGUAGE CXX OBJECT_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cuda_host.h)
target_compile_options(session_kernels PRIVATE -Wno-unknown-pragmas -x c++ -include ${CMAKE_CURRENT_SOURCE_DIR}/cuda_host.h)

# cuda_host_runtime(name [objects]): cuda/<name> from test_<name>.c
function(cuda_host_runtime name)
  add_executable(cuda_${name} test_${name}.c ${ARGN})
  set_target_properties(cuda_${name} PROPERTIES LINKER_LANGUAGE CXX)
  tlmc_warnings(cuda_${name})
  target_include_directories(cuda_${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
  target_include_directories(cuda_${name} SYSTEM PRIVATE ${TLM_HOST_CUDA_HEADERS})
  target_link_libraries(cuda_${name} PRIVATE tlm_host_plain PkgConfig::CMOCKA)
  cuda_host_test(${name} cuda_${name})
endfunction()

cuda_host_runtime(buffer)
cuda_host_runtime(session $<TARGET_OBJECTS:session_kernels>)
cuda_host_runtime(product $<TARGET_OBJECTS:session_kernels>)
