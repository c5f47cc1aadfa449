/* CMakeLists.txt of an emitted model: a library of NAME.c, the program of NAME_main.c, with the
   flags that the arithmetic contract asks for.  Targets are NAME_model and NAME_program: a model
   may be called `test`.  CUDA: NAME.cu by nvcc into one fatbin that becomes a C array, unless
   NAME_images.c, which `tlmc build --keep` writes, lies beside it. */
#include "emit_c.h"

#include <string.h>

/* NAME.cu -> NAME.fatbin -> NAME.fatbin.c, a C array. */
static void put_nvcc(struct tlmc_emit *e, struct tlmc_writer *w)
{
    tlmc_write(w, "  set(targets \"\")\n"
                  "  foreach(arch ${%{MODEL}_ARCHITECTURES})\n"
                  "    list(APPEND targets -gencode arch=compute_${arch},code=sm_${arch})\n"
                  "  endforeach()\n"
                  "  list(GET %{MODEL}_ARCHITECTURES 0 first)\n"
                  "  list(APPEND targets -gencode arch=compute_${first},code=compute_${first})\n");
    tlmc_write(
        w,
        "  set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/%{model}.fatbin)\n"
        "  add_custom_command(OUTPUT ${fatbin}.c\n"
        "    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -std=c++17 -fmad=false ${targets}\n"
        "      %{includes}\n"
        "      ${CMAKE_CURRENT_SOURCE_DIR}/%{model}.cu -o ${fatbin}\n"
        "    COMMAND ${CUDAToolkit_BIN_DIR}/bin2c --const --type longlong --name "
        "%{model}_fatbin ${fatbin} > ${fatbin}.c\n"
        "    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/%{model}.cu COMMAND_EXPAND_LISTS VERBATIM)\n",
        "includes",
        e->options->single_file ? ""
                                : "\"-I$<JOIN:$<TARGET_PROPERTY:tlmc::tlm_kernels,INTERFACE_"
                                  "INCLUDE_DIRECTORIES>,;-I>\"");
}

/* Sets `images`: the C files that hold device code. */
static void put_device_code(struct tlmc_emit *e, struct tlmc_writer *w)
{
    const bool alone = e->options->single_file;

    tlmc_write(
        w, "find_package(CUDAToolkit REQUIRED)\n"
           "\n"
           "# Device code: compiled by tlmc already, or here by nvcc for these architectures.\n"
           "string(REPLACE \",\" \";\" architectures \"" TLMC_CUDA_ARCHITECTURES "\")\n"
           "set(%{MODEL}_ARCHITECTURES ${architectures} CACHE STRING \"compute capabilities\")\n"
           "set(images ${CMAKE_CURRENT_SOURCE_DIR}/%{model}_images.c)\n"
           "if(NOT EXISTS ${images})\n");
    put_nvcc(e, w);
    if (alone)
        tlmc_write(w, "  set(images \"\")\n"
                      "  set_source_files_properties(%{model}_cuda.c PROPERTIES OBJECT_DEPENDS "
                      "${fatbin}.c\n"
                      "    COMPILE_DEFINITIONS \"%{MODEL}_FATBIN=\\\"${fatbin}.c\\\"\")\n");
    else
        tlmc_write(
            w, "  set(images ${CMAKE_CURRENT_BINARY_DIR}/%{model}_images.c)\n"
               "  file(WRITE ${images} [=[\n"
               "#include \"tlm_cuda.h\"\n"
               "#include \"%{model}.fatbin.c\"\n"
               "const tlm_cuda_image %{model}_images[] = { { TLM_CUDA_IMAGE_ANY, 0, "
               "%{model}_fatbin, sizeof %{model}_fatbin } };\n"
               "const uint32_t %{model}_image_count = 1;\n"
               "]=])\n"
               "  set_source_files_properties(${images} PROPERTIES OBJECT_DEPENDS ${fatbin}.c)\n");
    tlmc_write(w, "endif()\n\n");
}

static bool calls_users_kernels(const struct tlmc_emit *e)
{
    for (unsigned i = 0; i < e->headers.count; i++)
        if (strcmp(e->headers.items[i], "tlm_kernel_call.h") == 0)
            return true;
    return false;
}

/* Where the user's kernels are is not known here: emitted files name no folder of a machine. */
static void put_users_kernels(struct tlmc_writer *w)
{
    tlmc_write(w, "\n"
                  "# Kernels that are not tlmc's: the folders of their headers and libraries.\n"
                  "if(NOT %{MODEL}_KERNELS)\n"
                  "  message(FATAL_ERROR \"%{MODEL}_KERNELS is not set: the folders of the headers "
                  "and libraries that the capsules of %{model} name\")\n"
                  "endif()\n"
                  "target_include_directories(%{model}_model PRIVATE ${%{MODEL}_KERNELS})\n"
                  "target_link_directories(%{model}_model PUBLIC ${%{MODEL}_KERNELS})\n");
}

/* What the model links, up to the end of the line. */
static void put_links(struct tlmc_emit *e, struct tlmc_writer *w)
{
    const bool alone = e->options->single_file;

    if (!alone)
        tlmc_write(w, "tlmc::tlm ");
    if (e->cuda && alone)
        tlmc_write(w, tlmc_emit_uses_cublas(e) ? "CUDA::cublas CUDA::cudart_static "
                                               : "CUDA::cudart_static ");
    if (e->cuda && !alone)
        tlmc_write(w, tlmc_emit_uses_cublas(e) ? "tlmc::tlm_cublas tlmc::tlm_cuda "
                                               : "tlmc::tlm_cuda ");
    for (unsigned i = 0; i < e->links.count; i++)
        tlmc_write(w, "%{link} ", "link", e->links.items[i]);
    tlmc_write(w, "-lm)\n"); /* a flag: `m` would be a target, if the project has one */
}

static void put_program(struct tlmc_emit *e, struct tlmc_writer *w)
{
    const bool alone = e->options->single_file;

    if (e->options->with_main)
        tlmc_write(w,
                   "\n"
                   "add_executable(%{model}_program %{model}_main.c)\n"
                   "set_target_properties(%{model}_program PROPERTIES OUTPUT_NAME %{model})\n"
                   "target_link_libraries(%{model}_program PRIVATE %{model}_model%{threads})\n",
                   "threads", alone ? " -lpthread" : "");
}

void tlmc_emit_cmake(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    const bool alone = e->options->single_file;
    struct tlmc_writer w;

    tlmc_writer_init(&w, out);
    tlmc_writer_set(&w, "model", e->model);
    tlmc_writer_set(&w, "MODEL", e->MODEL);
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
        tlmc_write(&w,
                   "if(NOT TARGET tlmc::%{library})\n"
                   "  find_package(tlmc REQUIRED%{components})\n"
                   "endif()\n",
                   "library", e->cuda ? "tlm_cuda" : "tlm", "components",
                   e->cuda ? " COMPONENTS cuda" : "");
    if (e->cuda)
        put_device_code(e, &w);
    else
        tlmc_write(&w, "\n");
    tlmc_write(&w,
               "add_library(%{model}_model STATIC %{model}.c%{images})\n"
               "target_include_directories(%{model}_model PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
               "target_compile_options(%{model}_model PRIVATE -fno-math-errno -ffp-contract=off)\n"
               "target_link_libraries(%{model}_model PUBLIC ",
               "images",
               !e->cuda ? ""
               : alone  ? tlmc_emit_printf(e, " %s_cuda.c ${images}", e->model)
                        : " ${images}");
    put_links(e, &w);
    if (!alone)
        tlmc_write(&w, "target_link_libraries(%{model}_model PRIVATE tlmc::tlm_kernels)\n");
    if (calls_users_kernels(e))
        put_users_kernels(&w);
    if (e->cuda)
        tlmc_write(&w, "target_include_directories(%{model}_model PRIVATE "
                       "${CMAKE_CURRENT_BINARY_DIR})\n");
    put_program(e, &w);
    tlmc_writer_end(&w);
}
