/* The device code of the cases as PTX: what NVRTC, with the options of `tlmc build`, emits for two
   architectures. */
#include "cuda.h"

#include "images.h"
#include "toolkit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const unsigned ops_ptx_archs[OPS_PTX_ARCHS] = { 80, 120 };

static char *read_text(const char *dir, const char *name)
{
    char path[1024], *text = NULL;
    FILE *file;
    long size;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 ||
        fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    text = calloc((size_t)size + 1, 1);
    if (!text)
        tlmc_out_of_memory();
    if (fread(text, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

/* A text as a C string, a line a piece. */
static void put_text(FILE *out, const char *name, const struct tlmc_strbuf *text)
{
    fprintf(out, "static const char %s[] =\n    \"", name);
    for (size_t i = 0; i < text->length; i++) {
        const char c = text->text[i];

        if (c == '\n') {
            fputs(i + 1 < text->length ? "\\n\"\n    \"" : "\\n", out);
        } else {
            if (c == '"' || c == '\\')
                fputc('\\', out);
            fputc(c, out);
        }
    }
    fputs("\";\n", out);
}

static bool compile(const struct tlmc_nvrtc *nvrtc, const struct tlmc_nvrtc_source *source,
                    FILE *out)
{
    for (int i = 0; i < OPS_PTX_ARCHS; i++) {
        struct tlmc_nvrtc_result result;
        char name[32];

        if (!tlmc_nvrtc_compile(nvrtc, source, ops_ptx_archs[i], &result)) {
            fprintf(stderr, "%s", tlmc_strbuf_text(&result.log));
            return false;
        }
        snprintf(name, sizeof name, "ptx_%u", ops_ptx_archs[i]);
        put_text(out, name, &result.ptx);
        tlmc_nvrtc_result_free(&result);
    }
    return true;
}

static void put_table(FILE *out)
{
    fputs("extern const tlm_cuda_image cases_images[];\n"
          "extern const uint32_t cases_image_count;\n"
          "const tlm_cuda_image cases_images[] = {\n",
          out);
    for (int i = 0; i < OPS_PTX_ARCHS; i++)
        fprintf(out,
                "    { .kind = TLM_CUDA_IMAGE_PTX, .arch = %u, .data = ptx_%u, .bytes = sizeof "
                "ptx_%u },\n",
                ops_ptx_archs[i], ops_ptx_archs[i], ops_ptx_archs[i]);
    fprintf(out, "};\nconst uint32_t cases_image_count = %d;\n", OPS_PTX_ARCHS);
}

bool ops_cuda_ptx(const char *dir)
{
    struct tlmc_arena arena = { 0 };
    struct tlmc_toolkit toolkit;
    struct tlmc_nvrtc nvrtc;
    struct tlmc_strbuf why = { 0 };
    struct tlmc_images images = { .arena = &arena };
    char *text = read_text(dir, "cases.cu"), path[1024];
    bool done;
    FILE *out;

    tlmc_toolkit_find(&toolkit, NULL, &arena);
    if (!tlmc_nvrtc_open(&nvrtc, toolkit.libraries, !toolkit.asked, &why)) {
        fprintf(stderr, "%s\n", tlmc_strbuf_text(&why));
        return false;
    }
    images.nvrtc = &nvrtc;
    tlmc_images_source(&images, "cases.cu", text);
    snprintf(path, sizeof path, "%s/ptx_images.c", dir);
    out = fopen(path, "wb");
    if (!out) {
        fprintf(stderr, "cannot write %s\n", path);
        return false;
    }
    fputs("#include \"tlm_cuda.h\"\n", out);
    done = compile(&nvrtc, &images.source, out);
    put_table(out);
    done = fclose(out) == 0 && done;
    tlmc_nvrtc_close(&nvrtc);
    free(text);
    tlmc_arena_free(&arena);
    return done;
}
