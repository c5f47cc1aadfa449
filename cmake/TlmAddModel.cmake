# tlm_add_model(TARGET MODEL.tlm [CAPSULES file...] [OPTIONS option...])
#
# Compiles a model into TARGET at build time, and again when a file that tlmc read has changed.  If TARGET exists, the
# model's functions (NAME.h, NAME.c) are added to it; else TARGET becomes the model's own program (train, infer,
# generate).  CAPSULES are modules of yours: the folder of each is looked in for its kernels' headers; link the kernels
# to TARGET yourself.  OPTIONS go to tlmc emit (-D, --profile, ...).  Paths are relative to the calling CMakeLists.txt.
# Refused: a file without `model NAME;`, and programs for CUDA, which have device code to compile and tlm_cuda to link: the
# CMakeLists.txt that tlmc writes beside them does that.
function(tlm_add_model target model)
  cmake_parse_arguments(ARG "" "" "CAPSULES;OPTIONS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tlm_add_model: unknown argument '${ARG_UNPARSED_ARGUMENTS}'; known: CAPSULES, OPTIONS")
  endif()
  cmake_path(ABSOLUTE_PATH model BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  file(STRINGS ${model} lines REGEX "^[ \t]*model[ \t]+[A-Za-z_]")
  string(REGEX REPLACE "^[ \t]*model[ \t]+([A-Za-z_][A-Za-z0-9_]*).*" "\\1" name "${lines}")
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "tlm_add_model: no `model NAME;` in ${model}")
  endif()
  if("${ARG_OPTIONS}" MATCHES "(^|;)--(dev[a-z]*[=;]cuda|p[a-z]*[=;][A-Za-z0-9_]*_cuda)(;|$)")
    message(FATAL_ERROR "tlm_add_model builds programs for the CPU alone.  For CUDA: tlmc emit ${model} --device cuda -o DIR; then "
      "find_package(tlmc), add_subdirectory(DIR) and target_link_libraries(... ${name}_model)")
  endif()
  set(folders $<TARGET_PROPERTY:tlmc::tlm_kernels,INTERFACE_INCLUDE_DIRECTORIES>)
  foreach(capsules ${ARG_CAPSULES})
    cmake_path(ABSOLUTE_PATH capsules BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND ARG_OPTIONS --capsules ${capsules})
    cmake_path(GET capsules PARENT_PATH folder)
    list(APPEND folders ${folder})
  endforeach()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/tlm/${target}/${name})
  add_custom_command(OUTPUT ${folder}/${name}.c ${folder}/${name}_main.c ${folder}/${name}.h
    COMMAND tlmc::tlmc emit ${model} -o ${folder} --depfile ${folder}/${name}.d ${ARG_OPTIONS}
    DEPENDS ${model} tlmc::tlmc DEPFILE ${folder}/${name}.d WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "compiling ${name} (${model})" VERBATIM)
  if(TARGET ${target})
    target_sources(${target} PRIVATE ${folder}/${name}.c ${folder}/${name}.h)
  else()
    add_executable(${target} ${folder}/${name}.c ${folder}/${name}_main.c ${folder}/${name}.h)
  endif()
  target_include_directories(${target} PRIVATE ${folder})
  target_link_libraries(${target} PRIVATE tlmc::tlm)
  set_source_files_properties(${folder}/${name}.c PROPERTIES COMPILE_OPTIONS "-O2;-ffp-contract=off;-fno-math-errno"
    INCLUDE_DIRECTORIES "${folders}")
endfunction()
