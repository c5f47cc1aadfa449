/* CMakeLists.txt of an emitted model: a library of NAME.c, the program of NAME_main.c, with the
   flags that the arithmetic contract asks for. */
#include "emit_c.h"

void tlmc_emit_cmake(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    const bool alone = e->options->single_file;
    struct tlmc_writer w;

    tlmc_writer_init(&w, out);
    tlmc_writer_set(&w, "model", e->model);
    tlmc_write(&w,
               "# Builds %{model} and its program.  Emitted by tlmc %{version}.\n"
               "cmake_minimum_required(VERSION 3.16)\n"
               "project(%{model} C)\n"
               "\n"
               "if(NOT CMAKE_BUILD_TYPE)\n"
               "  set(CMAKE_BUILD_TYPE Release)\n"
               "endif()\n"
               "set(CMAKE_C_STANDARD 11)\n"
               "set(CMAKE_C_STANDARD_REQUIRED ON)\n"
               "set(CMAKE_C_EXTENSIONS OFF)\n",
               "version", e->options->version ? e->options->version : "");
    if (!alone)
        tlmc_write(&w, "if(NOT TARGET tlmc::tlm)\n"
                       "  find_package(tlmc REQUIRED)\n"
                       "endif()\n");
    tlmc_write(&w,
               "find_package(OpenMP COMPONENTS C)\n"
               "\n"
               "add_library(%{model}_model STATIC %{model}.c)\n"
               "target_include_directories(%{model}_model PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
               "target_compile_options(%{model}_model PRIVATE -fno-math-errno -ffp-contract=off)\n"
               "target_link_libraries(%{model}_model PUBLIC ");
    if (!alone)
        tlmc_write(&w, "tlmc::tlm ");
    for (unsigned i = 0; i < e->links.count; i++)
        tlmc_write(&w, "%{link} ", "link", e->links.items[i]);
    tlmc_write(&w, "m)\n"
                   "if(OpenMP_C_FOUND)\n"
                   "  target_link_libraries(%{model}_model PRIVATE OpenMP::OpenMP_C)\n"
                   "endif()\n");
    if (e->options->with_main)
        tlmc_write(&w, "\n"
                       "add_executable(%{model} %{model}_main.c)\n"
                       "target_link_libraries(%{model} PRIVATE %{model}_model)\n");
    tlmc_writer_end(&w);
}
