# cuda/mutants: kernels whose text was changed in one place must be noticed (scripts/mutate_kernels.py): a sample, every
# twelfth mutant; the script alone runs all.
# Included by CMakeLists.txt: where the libraries do not exist the test is a counted skip.
if(NOT TLM_HOST)
  cuda_host_test(mutants - ${TLM_HOST_WHY})
  return()
elseif(TLMC_SANITIZE)
  cuda_host_test(mutants - "the checker is not for sanitized builds")
  return()
endif()
find_package(Python3 COMPONENTS Interpreter REQUIRED)
# the shim alone, for what the checker does not see: arrays of one thread
add_library(tlm_host_mutants_asan STATIC $<TARGET_OBJECTS:host_shim_asan>)
set_target_properties(tlm_host_mutants_asan PROPERTIES LINKER_LANGUAGE CXX)
cuda_host_test(mutants ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/mutate_kernels.py ${PROJECT_BINARY_DIR}
  --every 12)
set_tests_properties(cuda/mutants PROPERTIES TIMEOUT 900 PROCESSORS 2)
