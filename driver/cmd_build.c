/* tlmc build and tlmc run: emit single files, compile them with the system's C compiler and, for
   CUDA, the device code with NVRTC, all side by side; link; put the program into its place, or run
   it.  A tlmc that was built without CUDA links the stub instead, which refuses to run by name.
   Refuses to replace, by the sources it keeps, files that are not tlmc's; the program replaces any
   regular file of its name but the model.  A signal leaves no temporary file behind. */
#define _XOPEN_SOURCE 700 /* realpath, setenv */
#include "bundle.h"
#include "commands.h"
#include "compile.h"
#include "images.h"
#include "interrupt.h"
#include "output.h"
#include "pipeline.h"
#include "toolkit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PROGRAM "program" /* its name in the temporary folder */

struct build {
    const struct tlmc_options *options;
    struct tlmc_compilation c;
    struct tlmc_emission emission;
    const char *sources;   /* the folder of --keep, or the temporary one */
    const char *temporary; /* of what is made of them, and of the program */
    const char **folders;  /* -L of the folder of each module of the user, ended by NULL */
    bool linked;           /* shell and runtime come as an object, not as text */
    struct tlmc_jobs jobs;
    struct tlmc_compiler compiler;
    /* for CUDA */
    const char *model;
    bool native; /* device code and the CUDA runtime, not the stub */
    struct tlmc_toolkit toolkit;
    struct tlmc_nvrtc nvrtc;
    struct tlmc_images images;
    const char *libraries, *cublas; /* the folders of cudart and, where it is called, of cuBLAS */
};

static bool has_ending(const char *name, const char *ending)
{
    const char *dot = strrchr(name, '.');

    return dot && strcmp(dot, ending) == 0;
}

static const struct tlmc_emitted *find_file(const struct build *b, const char *ending)
{
    for (unsigned i = 0; i < b->emission.count; i++)
        if (has_ending(b->emission.files[i].name, ending))
            return &b->emission.files[i];
    return NULL;
}

static bool write_text(const struct build *b, const char *name, const struct tlmc_strbuf *text)
{
    return tlmc_write_file(b->sources, name, tlmc_strbuf_text(text), text->length);
}

static int write_sources(const struct build *b)
{
    if (!tlmc_make_folder(b->sources))
        return TLMC_EXIT_USAGE;
    for (unsigned i = 0; i < b->emission.count; i++)
        if (!write_text(b, b->emission.files[i].name, &b->emission.files[i].text))
            return TLMC_EXIT_USAGE;
    return TLMC_EXIT_OK;
}

/* ---- modules of the user: kernels have headers beside them, which include the runtime's */

/* The folder of the runtime's headers; NULL: it could not be written. */
static const char *write_headers(struct build *b)
{
    const char *folder = tlmc_arena_printf(&b->c.arena, "%s/headers", b->temporary);

    if (!tlmc_make_folder(folder))
        return NULL;
    for (const struct tlmc_program_text *t = tlmc_program_texts; t->name; t++)
        if (strncmp(t->name, "tlm", 3) == 0 && strncmp(t->name, "tlmk", 4) != 0 &&
            !tlmc_write_file(folder, t->name, t->text, t->length))
            return NULL;
    return folder;
}

/* What a header includes is looked for among the runtime's and in the folder of each module; what
   its `link` names, in the folder of each module. */
static bool begin_modules(struct build *b)
{
    const char *const *modules = tlmc_opt_list(b->options, TLMC_OPT_CAPSULES);
    const char **includes;
    unsigned n = 0;

    while (modules && modules[n])
        n++;
    includes = TLMC_NEW_ARRAY(&b->c.arena, const char *, n + 2);
    b->folders = TLMC_NEW_ARRAY(&b->c.arena, const char *, n + 1);
    if (n == 0)
        return true;
    includes[0] = write_headers(b);
    if (!includes[0])
        return false;
    for (unsigned i = 0; i < n; i++) {
        const char *slash = strrchr(modules[i], '/');
        const char *folder = slash ? tlmc_arena_printf(&b->c.arena, "%.*s",
                                                       (int)(slash - modules[i]) + 1, modules[i])
                                   : ".";

        includes[1 + i] = folder;
        b->folders[i] = tlmc_arena_printf(&b->c.arena, "-L%s", folder);
    }
    b->compiler.includes = includes;
    return true;
}

/* ---- CUDA: what is needed, asked for before anything is compiled */

/* --arch and --cuda-path ask for something that only a native build for CUDA has. */
static int check_cuda_options(const struct build *b)
{
    const bool given =
        tlmc_opt_given(b->options, TLMC_OPT_ARCH) || tlmc_opt_given(b->options, TLMC_OPT_CUDA_PATH);

    if (!given || b->native)
        return TLMC_EXIT_OK;
    fprintf(stderr, "tlmc %s: --arch and --cuda-path are for %s\n", b->options->command,
            b->emission.cuda ? "a tlmc built with the CUDA toolkit; this one was not (see "
                               "tlmc --version)"
                             : "--device cuda");
    return TLMC_EXIT_USAGE;
}

static int lacks(const struct build *b, const char *what, struct tlmc_strbuf *why)
{
    fprintf(stderr,
            "tlmc %s: --device cuda needs %s: %s; install the CUDA toolkit or name its folder with "
            "--cuda-path\n",
            b->options->command, what, tlmc_strbuf_text(why));
    tlmc_strbuf_free(why);
    return TLMC_EXIT_USAGE;
}

static int find_toolkit(struct build *b)
{
    const char *const path = tlmc_opt(b->options, TLMC_OPT_CUDA_PATH);
    struct tlmc_strbuf why = { 0 };

    tlmc_toolkit_find(&b->toolkit, path, &b->c.arena);
    if (!tlmc_nvrtc_open(&b->nvrtc, b->toolkit.libraries, !b->toolkit.asked, &why))
        return lacks(b, "NVRTC, which compiles the device code", &why);
    b->libraries =
        tlmc_toolkit_folder(b->toolkit.libraries, "libcudart_static.a", &b->c.arena, &why);
    if (!b->libraries)
        return lacks(b, "the CUDA runtime", &why);
    b->compiler.headers =
        tlmc_toolkit_folder(b->toolkit.headers, "cuda_runtime_api.h", &b->c.arena, &why);
    if (!b->compiler.headers)
        return lacks(b, "the headers of the CUDA runtime", &why);
    if (b->emission.cublas) {
        b->cublas = tlmc_toolkit_folder(b->toolkit.libraries, "libcublas.so", &b->c.arena, &why);
        if (!b->cublas)
            return lacks(b, "cuBLAS, which the plan chose", &why);
    }
    return TLMC_EXIT_OK;
}

/* The tool is the toolkit's, not NVRTC's: a build without it is larger, not different. */
static const char *find_fatbinary(struct build *b)
{
    struct tlmc_strbuf why = { 0 };
    const char *folder = tlmc_toolkit_folder(b->toolkit.tools, "fatbinary", &b->c.arena, &why);

    tlmc_strbuf_free(&why);
    return folder ? tlmc_arena_printf(&b->c.arena, "%s/fatbinary", folder) : NULL;
}

static int begin_cuda(struct build *b)
{
    const struct tlmc_emitted *device = find_file(b, ".cu");
    int status;

    b->native = b->emission.cuda && tlmc_toolkit_configured();
    status = check_cuda_options(b);
    if (status || !b->emission.cuda)
        return status;
    TLMC_CHECK(device);
    b->model = tlmc_arena_strndup(&b->c.arena, device->name, strcspn(device->name, "."));
    if (!b->native) {
        fputs("tlmc: note: this tlmc was built without the CUDA toolkit; the program gets the stub "
              "and will refuse to run\n",
              stderr);
        return TLMC_EXIT_OK;
    }
    status = find_toolkit(b);
    if (status)
        return status;
    b->images = (struct tlmc_images){ .arena = &b->c.arena,
                                      .nvrtc = &b->nvrtc,
                                      .fatbinary = find_fatbinary(b),
                                      .name = b->model,
                                      .kernels = b->emission.kernels,
                                      .kernel_count = b->emission.kernel_count };
    tlmc_images_source(&b->images, device->name, tlmc_strbuf_text(&device->text));
    return tlmc_images_choose(&b->images, tlmc_opt(b->options, TLMC_OPT_ARCH)) ? TLMC_EXIT_OK
                                                                               : TLMC_EXIT_USAGE;
}

/* ---- compiling */

/* The compiler of the user's choice, or NULL. */
static const char *asked_compiler(const struct tlmc_options *options)
{
    const char *command = tlmc_opt(options, TLMC_OPT_CC);

    if (!command)
        command = getenv("CC");
    return command && *command ? command : NULL;
}

/* Another compiler, or flags such as sanitizers, are for all of the program; kept sources are all
   of it. */
static bool can_link_shell(const struct tlmc_options *options)
{
    return !asked_compiler(options) && !tlmc_opt_given(options, TLMC_OPT_CFLAGS) &&
           !tlmc_opt_given(options, TLMC_OPT_KEEP);
}

static void choose_compiler(struct build *b)
{
    const char *command = asked_compiler(b->options),
               *flags = tlmc_opt(b->options, TLMC_OPT_CFLAGS);

    if (!flags)
        flags = b->emission.cuda ? TLMC_DEFAULT_CUDA_CFLAGS : TLMC_DEFAULT_CFLAGS;
    b->compiler.command = command ? command : "cc";
    b->compiler.flags = flags;
    b->compiler.sources = b->sources;
    b->compiler.objects = b->temporary;
}

/* Without the toolkit the program gets the stub in place of the CUDA runtime. */
static bool write_stub(struct build *b)
{
    struct tlmc_bundle bundle = { .arena = &b->c.arena, .source = tlmc_find_program_text };
    struct tlmc_strbuf text = { 0 };
    bool ok;

    tlmc_strbuf_printf(&text,
                       "/* %s: The stub of the CUDA runtime, which refuses to run.\n"
                       "   Written by tlmc %s. */\n"
                       "#define _POSIX_C_SOURCE 200809L\n",
                       b->model, TLMC_VERSION);
    tlmc_bundle_file(&bundle, "libtlm_cuda_stub.inc", &text);
    if (bundle.missing)
        TLMC_BUG("no text of '%s'", bundle.missing);
    ok = write_text(b, tlmc_arena_printf(&b->c.arena, "%s_cuda.c", b->model), &text);
    tlmc_strbuf_free(&text);
    return ok;
}

static bool add_shell(struct build *b)
{
    const struct tlmc_program_text *object = &tlmc_program_objects[0];

    if (!b->linked)
        return true;
    tlmc_compile_object(&b->compiler, object->name);
    return tlmc_write_file(b->temporary, object->name, object->text, object->length);
}

/* The emitted C files, the longest first: what takes longest should not begin last. */
static bool compile_files(struct build *b)
{
    const struct tlmc_emitted *files[sizeof b->emission.files / sizeof *b->emission.files];
    unsigned count = 0;
    bool ok = true;

    for (unsigned i = 0; i < b->emission.count; i++) {
        const struct tlmc_emitted *f = &b->emission.files[i];
        unsigned at = count;

        if (!has_ending(f->name, ".c"))
            continue;
        for (; at > 0 && files[at - 1]->text.length < f->text.length; at--)
            files[at] = files[at - 1];
        files[at] = f;
        count++;
    }
    for (unsigned i = 0; ok && i < count; i++)
        ok = tlmc_compile_file(&b->compiler, &b->jobs, files[i]->name);
    return ok;
}

static const char *images_name(struct build *b)
{
    return tlmc_arena_printf(&b->c.arena, "%s_images.c", b->model);
}

/* NAME_images.c, when every cubin is there. */
static bool compile_images(struct build *b)
{
    const char *name = images_name(b);
    struct tlmc_strbuf text = { 0 };
    bool ok = true;

    if (b->native)
        ok = tlmc_images_collect(&b->images, &text) &&
             (b->sources == b->temporary || tlmc_images_keep_ptx(&b->images, b->sources));
    else
        tlmc_images_none(&b->c.arena, b->model, &text);
    ok = ok && write_text(b, name, &text);
    tlmc_strbuf_free(&text);
    return ok && tlmc_compile_file(&b->compiler, &b->jobs, name);
}

static bool link_program(struct build *b, const char *program)
{
    struct tlmc_arena *arena = &b->c.arena;
    const char *links[TLMC_EMIT_LINKS + 4], *libraries[16];
    unsigned n = 0, m = 0;

    for (unsigned i = 0; i < b->emission.link_count; i++)
        links[n++] = b->emission.links[i];
    if (b->native && !tlmc_opt_given(b->options, TLMC_OPT_CFLAGS))
        links[n++] = "-s"; /* most of cudart is names */
    links[n++] = "-lm";
    links[n] = NULL;
    if (b->cublas) {
        libraries[m++] = tlmc_arena_printf(arena, "%s/libcublas.so", b->cublas);
        libraries[m++] = "-Xlinker"; /* -Wl, takes no comma in a path */
        libraries[m++] = "-rpath";
        libraries[m++] = "-Xlinker";
        libraries[m++] = b->cublas;
    }
    if (b->native) {
        libraries[m++] = tlmc_arena_printf(arena, "%s/libcudart_static.a", b->libraries);
        libraries[m++] = "-ldl"; /* cudart's own; empty in newer C libraries */
        libraries[m++] = "-lrt";
    }
    libraries[m++] = "-lpthread"; /* the shell's threads; empty in newer C libraries */
    libraries[m] = NULL;
    return tlmc_compile_link(&b->compiler, program, b->folders, links, libraries);
}

/* The word after a job of the compiler failed; NVRTC's has spoken itself. */
static int explain(const struct build *b)
{
    if (tlmc_interrupt())
        return TLMC_EXIT_USAGE; /* the signal will tell */
    if (!b->jobs.failed || b->jobs.failed == b->compiler.command)
        fprintf(stderr,
                "tlmc: '%s' did not compile the emitted program; see its messages above, and --cc, "
                "--cflags\n",
                b->compiler.command);
    return TLMC_EXIT_USAGE;
}

static int compile(struct build *b, const char *program)
{
    bool ok;

    choose_compiler(b);
    tlmc_jobs_begin(&b->jobs);
    ok = (b->native || !b->emission.cuda || write_stub(b)) && add_shell(b) && compile_files(b);
    if (ok && b->native)
        tlmc_images_compile(&b->images, &b->jobs);
    if (!tlmc_jobs_end(&b->jobs))
        return explain(b);
    if (ok && b->emission.cuda) {
        ok = compile_images(b);
        if (!tlmc_jobs_end(&b->jobs))
            return explain(b);
    }
    if (!ok)
        return TLMC_EXIT_USAGE;
    return link_program(b, program) ? TLMC_EXIT_OK : explain(b);
}

/* ---- the whole build */

/* Kept files replace none that is not tlmc's.  Asked for all before the first is written. */
static int check_kept(struct build *b)
{
    const char *keep = tlmc_opt(b->options, TLMC_OPT_KEEP);
    bool ok = true;

    if (!keep)
        return TLMC_EXIT_OK;
    for (unsigned i = 0; ok && i < b->emission.count; i++)
        ok = tlmc_may_replace(keep, b->emission.files[i].name);
    if (ok && b->emission.cuda)
        ok = tlmc_may_replace(keep, images_name(b));
    if (ok && b->native)
        ok = tlmc_may_replace(keep, tlmc_images_ptx_name(&b->images));
    return ok ? TLMC_EXIT_OK : TLMC_EXIT_USAGE;
}

/* A path that the compiler takes neither for an option nor for a file of options. */
static const char *kept_folder(struct build *b, const char *keep)
{
    return *keep == '-' || *keep == '@' ? tlmc_arena_printf(&b->c.arena, "./%s", keep) : keep;
}

static int build_files(struct build *b, const char *temporary)
{
    const char *keep = tlmc_opt(b->options, TLMC_OPT_KEEP);
    int status;

    b->temporary = temporary;
    b->sources = keep ? kept_folder(b, keep) : temporary;
    b->images.folder = temporary;
    if (!begin_modules(b))
        return TLMC_EXIT_USAGE;
    status = write_sources(b);
    return status ? status
                  : compile(b, tlmc_arena_printf(&b->c.arena, "%s/" PROGRAM, b->temporary));
}

/* Where compilers put temporary files of their own; NULL: wherever they like. */
static void set_temporary(const char *folder)
{
    if (folder)
        setenv("TMPDIR", folder, 1);
    else
        unsetenv("TMPDIR");
}

/* A compiler that is ended may leave files: they go where everything is removed. */
static int build_in(struct build *b, const char *temporary)
{
    const char *const users = getenv("TMPDIR");
    const char *const old = users ? tlmc_arena_strdup(&b->c.arena, users) : NULL;
    char *const whole = realpath(temporary, NULL); /* for tools that run in another folder */
    int status;

    set_temporary(whole ? whole : temporary);
    status = build_files(b, temporary);
    set_temporary(old);
    free(whole);
    return status;
}

/* Emits and compiles to PROGRAM in a temporary folder, which end_build must be given. */
static int build(const struct tlmc_options *options, struct tlmc_strbuf *temporary)
{
    struct build b = { .options = options, .linked = can_link_shell(options) };
    int status;

    tlmc_compilation_begin(&b.c, options);
    status = tlmc_stage_emit(&b.c, b.linked ? TLMC_EMIT_LINKED : TLMC_EMIT_SINGLE, &b.emission);
    if (!status)
        status = begin_cuda(&b);
    if (!status)
        status = check_kept(&b);
    tlmc_interrupt_begin(); /* not before: what takes no folder can just be ended */
    if (!status && !tlmc_temporary_folder(temporary))
        status = TLMC_EXIT_USAGE;
    if (!status)
        status = build_in(&b, temporary->text);
    tlmc_nvrtc_close(&b.nvrtc);
    tlmc_emission_free(&b.emission);
    return tlmc_compilation_end(&b.c, status);
}

/* Does not return if a signal asked to end. */
static int end_build(struct tlmc_strbuf *temporary, int status)
{
    if (temporary->length)
        tlmc_remove_folder(temporary->text);
    tlmc_strbuf_free(temporary);
    tlmc_interrupt_end();
    return status;
}

/* "dir/model.tlm" -> "model" in the current folder */
static void default_program(const struct tlmc_options *options, struct tlmc_strbuf *out)
{
    const char *path = options->file_count ? options->files[0] : "model";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    tlmc_strbuf_add_n(out, base, strcspn(base, "."));
}

/* Found out before the work. */
static bool can_write(const struct tlmc_options *options, const char *program)
{
    struct stat model, old;

    if (!tlmc_may_write_program(program))
        return false;
    if (options->file_count && stat(options->files[0], &model) == 0 && stat(program, &old) == 0 &&
        model.st_dev == old.st_dev && model.st_ino == old.st_ino) {
        fprintf(stderr, "tlmc: cannot write '%s': it is the model\n", program);
        return false;
    }
    return true;
}

int tlmc_cmd_build(const struct tlmc_options *options)
{
    struct tlmc_strbuf temporary = { 0 }, program = { 0 };
    int status = TLMC_EXIT_USAGE;

    if (tlmc_opt(options, TLMC_OPT_OUTPUT))
        tlmc_strbuf_add(&program, tlmc_opt(options, TLMC_OPT_OUTPUT));
    else
        default_program(options, &program);
    if (can_write(options, tlmc_strbuf_text(&program))) {
        status = build(options, &temporary);
        if (!status) {
            struct tlmc_strbuf made = { 0 };

            tlmc_strbuf_printf(&made, "%s/" PROGRAM, temporary.text);
            if (!tlmc_copy_program(made.text, program.text))
                status = TLMC_EXIT_USAGE;
            tlmc_strbuf_free(&made);
        }
        status = end_build(&temporary, status);
    }
    if (!status)
        printf("%s\n", program.text);
    tlmc_strbuf_free(&program);
    return status;
}

int tlmc_cmd_run(const struct tlmc_options *options)
{
    struct tlmc_strbuf temporary = { 0 }, made = { 0 };
    char **argv;
    int status, count = 0;

    status = build(options, &temporary);
    if (!status) {
        tlmc_strbuf_printf(&made, "%s/" PROGRAM, temporary.text);
        while (options->program_args && options->program_args[count])
            count++;
        argv = calloc((size_t)count + 2, sizeof *argv);
        if (!argv)
            tlmc_out_of_memory();
        argv[0] = made.text;
        if (count)
            memcpy(argv + 1, options->program_args, (size_t)count * sizeof *argv);
        status = tlmc_run_program(NULL, argv);
        free(argv);
        tlmc_strbuf_free(&made);
    }
    return end_build(&temporary, status);
}
