/* A .cu file to a cubin for one architecture, with the compiler, the options and the headers that
   `tlmc build --device cuda` uses: for device code of tests and benchmarks that no model holds.

     compile_cu FILE.cu ARCH OUT.cubin [CUDA FOLDER [NAME=VALUE | @HEADER]...]

   Each NAME=VALUE becomes a macro in front of the text, each HEADER can be included by its name.
   Exit 1 with NVRTC's messages when it does not compile, 2 when something is missing. */
#include "file.h"
#include "images.h"
#include "output.h"
#include "toolkit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SOURCE = 64 << 20, FIRST_EXTRA = 5 };

static bool open_compiler(struct tlmc_nvrtc *nvrtc, const char *folder, struct tlmc_arena *arena)
{
    struct tlmc_toolkit toolkit;
    struct tlmc_strbuf why = { 0 };
    bool ok;

    tlmc_toolkit_find(&toolkit, folder, arena);
    ok = tlmc_nvrtc_open(nvrtc, toolkit.libraries, !toolkit.asked, &why);
    if (!ok)
        fprintf(stderr, "compile_cu: NVRTC: %s\n", tlmc_strbuf_text(&why));
    tlmc_strbuf_free(&why);
    return ok;
}

static bool read_text(const char *path, struct tlmc_strbuf *text)
{
    static char error[TLM_ERROR_BYTES];
    struct tlm_bytes file = { 0 };

    if (tlm_file_read(path, MOST_SOURCE, &file, error) != TLM_OK) {
        fprintf(stderr, "compile_cu: %s\n", error);
        return false;
    }
    tlmc_strbuf_printf(text, "%.*s", (int)file.size, (const char *)file.data);
    tlm_bytes_free(&file);
    return true;
}

/* The macros, then the file under its own name: messages point into it. */
static bool read_source(int argc, char **argv, struct tlmc_strbuf *text)
{
    for (int i = FIRST_EXTRA; i < argc; i++) {
        const int length = (int)strcspn(argv[i], "=");

        if (*argv[i] != '@')
            tlmc_strbuf_printf(text, "#define %.*s %s\n", length, argv[i],
                               argv[i][length] ? argv[i] + length + 1 : "1");
    }
    tlmc_strbuf_printf(text, "#line 1 \"%s\"\n", argv[1]);
    return read_text(argv[1], text);
}

/* The headers that tlmc carries, then those of the command line. */
static bool add_headers(int argc, char **argv, struct tlmc_nvrtc_source *source,
                        struct tlmc_arena *arena)
{
    const unsigned most = source->header_count + (unsigned)argc;
    const char **names = TLMC_NEW_ARRAY(arena, const char *, most);
    const char **texts = TLMC_NEW_ARRAY(arena, const char *, most);
    unsigned count = source->header_count;

    memcpy(names, source->header_names, count * sizeof *names);
    memcpy(texts, source->header_texts, count * sizeof *texts);
    for (int i = FIRST_EXTRA; i < argc; i++) {
        struct tlmc_strbuf text = { 0 };
        const char *slash = strrchr(argv[i], '/');

        if (*argv[i] != '@')
            continue;
        if (!read_text(argv[i] + 1, &text))
            return false;
        names[count] = slash ? slash + 1 : argv[i] + 1;
        texts[count++] = tlmc_arena_strdup(arena, tlmc_strbuf_text(&text));
        tlmc_strbuf_free(&text);
    }
    source->header_names = names;
    source->header_texts = texts;
    source->header_count = count;
    return true;
}

static int compile(const struct tlmc_nvrtc *nvrtc, const struct tlmc_strbuf *text, int argc,
                   char **argv, struct tlmc_arena *arena)
{
    struct tlmc_images images = { .arena = arena, .nvrtc = nvrtc };
    struct tlmc_nvrtc_result result;
    int status = 0;

    tlmc_images_source(&images, argv[1], tlmc_strbuf_text(text));
    if (!add_headers(argc, argv, &images.source, arena))
        return 2;
    if (!tlmc_nvrtc_compile(nvrtc, &images.source, (unsigned)strtoul(argv[2], NULL, 10), &result)) {
        fprintf(stderr, "%s\ncompile_cu: %s does not compile for sm_%s\n",
                tlmc_strbuf_text(&result.log), argv[1], argv[2]);
        status = 1;
    } else if (!tlmc_write_file("", argv[3], tlmc_strbuf_text(&result.cubin),
                                result.cubin.length)) {
        status = 2;
    }
    tlmc_nvrtc_result_free(&result);
    return status;
}

int main(int argc, char **argv)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_strbuf text = { 0 };
    struct tlmc_nvrtc nvrtc = { 0 };
    int status = 2;

    if (argc < 4) {
        fprintf(stderr, "usage: compile_cu FILE.cu ARCH OUT.cubin [CUDA FOLDER [NAME=VALUE | "
                        "@HEADER]...]\n");
        return 2;
    }
    if (open_compiler(&nvrtc, argc > 4 && *argv[4] ? argv[4] : NULL, &arena) &&
        read_source(argc, argv, &text))
        status = compile(&nvrtc, &text, argc, argv, &arena);
    tlmc_nvrtc_close(&nvrtc);
    tlmc_strbuf_free(&text);
    tlmc_arena_free(&arena);
    return status;
}
