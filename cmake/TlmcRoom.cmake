# tlmc_warnings(target): the house's warnings.  tlmc_room(name [USES room...]): the static library of a room from the
# .c files of its folder.  tlmc_embed(out.c symbol type files...): texts as C arrays, so that tlmc needs no data files.
function(tlmc_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wcast-qual -Wwrite-strings -Wswitch-enum -fno-math-errno -ffp-contract=off)
  if(TLMC_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(TLMC_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(TLMC_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TLMC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${TLMC_SANITIZE})
  endif()
endfunction()

function(tlmc_room name)
  cmake_parse_arguments(ROOM "" "" "USES;EXTRA" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c ${CMAKE_CURRENT_SOURCE_DIR}/spec/*.c)
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  add_library(tlmc_${name} STATIC ${sources} ${ROOM_EXTRA})
  target_include_directories(tlmc_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  tlmc_warnings(tlmc_${name})
  foreach(used ${ROOM_USES})
    target_link_libraries(tlmc_${name} PUBLIC tlmc_${used})
  endforeach()
endfunction()

function(tlmc_embed out symbol type header)
  set(paths ${ARGN})
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DSYMBOL=${symbol} -DTYPE=${type} -DHEADER=${header} "-DPATHS=${paths}"
      -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
endfunction()
