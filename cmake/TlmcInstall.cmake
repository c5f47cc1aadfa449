# What an installed tlmc gives: the command, the runtime library with its headers and the kernels, a CMake package and
# pkg-config files.  Nothing in it names the prefix: what is installed can be moved.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tlmc)
configure_package_config_file(cmake/tlmcConfig.cmake.in ${PROJECT_BINARY_DIR}/tlmcConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tlmcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tlmcConfig.cmake ${PROJECT_BINARY_DIR}/tlmcConfigVersion.cmake cmake/TlmAddModel.cmake DESTINATION ${package})

# The way from the folder of the .pc files up to the prefix; a folder that was given as an absolute path has none.
set(pc_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${pc_folder})
  file(RELATIVE_PATH up /prefix/${pc_folder} /prefix)
  string(REGEX REPLACE "/$" "" up ${up})
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(folder LIBDIR INCLUDEDIR)
  set(pc_${folder} ${CMAKE_INSTALL_${folder}})
  if(NOT IS_ABSOLUTE ${pc_${folder}})
    set(pc_${folder} "\${prefix}/${pc_${folder}}")
  endif()
endforeach()
foreach(name tlm tlm-kernels)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_folder})
endforeach()

# Headers of the runtime begin with tlm; those of the kernels have plain names (random.h) and a folder of their own,
# which emitted code looks in and nobody else's.
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/tlm)
install(DIRECTORY runtime/ DESTINATION ${headers} FILES_MATCHING PATTERN "tlm*.h" PATTERN "tlm*.def")
install(DIRECTORY kernels_cpu/ kernels_cuda/ DESTINATION ${headers}/kernels FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
add_library(tlm_kernels INTERFACE)
target_link_libraries(tlm_kernels INTERFACE tlm)
target_include_directories(tlm_kernels INTERFACE $<INSTALL_INTERFACE:${headers}/kernels>)

# Export sets: those over CUDA are read where CUDA is found.
macro(install_set set)
  install(TARGETS ${ARGN} EXPORT ${set} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    INCLUDES DESTINATION ${headers})
  install(EXPORT ${set} NAMESPACE tlmc:: DESTINATION ${package})
endmacro()
install_set(tlmcTargets tlmc tlm tlm_kernels)
install_set(tlmcCudaTargets tlm_cuda)
if(TARGET tlm_cublas)
  install_set(tlmcCublasTargets tlm_cublas)
endif()
install(FILES docs/tlmc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
