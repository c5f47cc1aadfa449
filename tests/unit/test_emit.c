/* The C target beyond golden files: a user's kernel with its header and link flags, long phases cut
   into parts, errors that name the node, text that both compilers take without a warning and that
   calls nothing it should not. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit.h"
#include "frontend.h"
#include "pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char folder[32];
    struct tlmc_arena arena;
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_emission emission;
    const char *device; /* NULL: the default */
};

static void put(const struct fixture *f, const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    strcpy(f->folder, "emit_XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    tlmc_symtab_init(&f->symbols, &f->arena);
    tlmc_sources_init(&f->sources, &f->arena);
    tlmc_diags_init(&f->diags, &f->arena, &f->sources);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char command[128];

    tlmc_emission_free(&f->emission);
    tlmc_arena_free(&f->arena);
    snprintf(command, sizeof command, "rm -r '%s'", f->folder);
    if (system(command) != 0)
        return -1;
    free(f);
    return 0;
}

/* Emits a model given as text, with a user's capsules or NULL; the files are written into the
   folder. */
static bool emit(struct fixture *f, const char *model, const char *capsules)
{
    const struct tlmc_frontend_options front = { 0 };
    const struct tlmc_pass_options passes = { 0 };
    const struct tlmc_plan_options plan_options = { .device = f->device };
    const struct tlmc_emit_options options = { .version = "test", .with_main = true };
    struct tlmc_module *module;
    struct tlmc_catalog *catalog = tlmc_catalog_new(&f->arena, &f->symbols, &f->diags);
    struct tlmc_plan *plan;
    const tlmc_accepted_plan *accepted;
    char path[128];

    put(f, "m.tlm", model);
    snprintf(path, sizeof path, "%s/m.tlm", f->folder);
    module = tlmc_frontend(&f->arena, &f->symbols, &f->sources, path, &front, &f->diags);
    if (!module || !tlmc_run_passes(module, &passes, &f->diags))
        return false;
    if (capsules) {
        const uint32_t file = tlmc_sources_add(&f->sources, "my.capsules", capsules,
                                               (uint32_t)strlen(capsules), false);

        if (!tlmc_catalog_add(catalog, "user:my", file, &f->diags))
            return false;
    }
    plan = tlmc_plan_make(module, catalog, &plan_options, &f->diags);
    accepted = plan ? tlmc_plan_accept(plan, &f->diags) : NULL;
    if (!accepted || !tlmc_emit_c(accepted, &options, &f->emission, &f->diags))
        return false;
    for (unsigned i = 0; i < f->emission.count; i++)
        put(f, f->emission.files[i].name, tlmc_strbuf_text(&f->emission.files[i].text));
    return true;
}

static void must_emit(struct fixture *f, const char *model, const char *capsules)
{
    if (emit(f, model, capsules))
        return;
    tlmc_diags_print(&f->diags, stderr);
    fail_msg("not emitted");
}

static const char *text_of(const struct fixture *f, const char *name)
{
    for (unsigned i = 0; i < f->emission.count; i++)
        if (strcmp(f->emission.files[i].name, name) == 0)
            return tlmc_strbuf_text(&f->emission.files[i].text);
    fail_msg("no file %s", name);
    return NULL;
}

static bool has_compiler(const char *cc)
{
    char command[128];

    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", cc);
    return system(command) == 0;
}

static void compile(const struct fixture *f, const char *cc, const char *arguments)
{
    char command[2048];

    snprintf(command, sizeof command,
             "cd '%s' && %s -std=c11 -O1 -Wall -Wextra -Wshadow -Wstrict-prototypes "
             "-Wmissing-prototypes "
             "-Wpointer-arith -Wcast-qual -Wwrite-strings -Werror -I. -I'%s/runtime' "
             "-I'%s/kernels_cpu' %s",
             f->folder, cc, TLMC_SOURCE_DIR, TLMC_SOURCE_DIR, arguments);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

/* ---- a user's kernel */

static const char softmax_model[] = "model net;\n"
                                    "input x: f32[2, 3];\n"
                                    "output y = softmax(x * 2.0);\n";

static const char my_capsules[] =
    "provider my-npu { in_build yes; licence MIT; }\n"
    "capsule my_npu.softmax {\n"
    "  op softmax; provider my-npu; device cpu; trust checked; vjp graph-vjp;\n"
    "  shape guard \"rank <= 8\"; layout guard \"flat row-major float32\";\n"
    "  value tests \"gradients/softmax\"; vjp tests \"gradients/softmax\";\n"
    "  numeric round=nearest-even subnormal=gradual-underflow contract=separate "
    "reduce=fixed-left;\n"
    "  arithmetic implementation-defined;\n"
    "  abi call; symbol my_softmax; header my_softmax.h; link \"-lmy_npu -L/opt/npu\";\n"
    "}\n";

/* A kernel that only proves that it was called with the right things. */
static const char my_kernel[] = "#include \"my_softmax.h\"\n"
                                "#include <string.h>\n"
                                "tlm_status my_softmax(const tlm_kernel_args *args)\n"
                                "{\n"
                                "    const float *x = (const float *)args->inputs[0].data;\n"
                                "    float *y = (float *)args->outputs[0].data;\n"
                                "    if (args->size != sizeof *args || args->version != "
                                "TLM_KERNEL_VERSION || strcmp(args->op, \"softmax\") != 0)\n"
                                "        return TLM_ERR_ABI;\n"
                                "    if (args->outputs[0].rank != 2 || args->outputs[0].dims[0] != "
                                "2 || args->outputs[0].dims[1] != 3)\n"
                                "        return TLM_ERR_ARGUMENT;\n"
                                "    for (int i = 0; i < 6; i++)\n"
                                "        y[i] = x[i] + 1.0f;\n"
                                "    return TLM_OK;\n"
                                "}\n";

static const char my_header[] = "#include \"tlm_kernel.h\"\n"
                                "tlm_status my_softmax(const tlm_kernel_args *args);\n";

static const char my_main[] =
    "#include \"net.h\"\n"
    "#include <stdlib.h>\n"
    "static unsigned char weights[64 + NET_WEIGHTS_BYTES], state[64 + NET_STATE_BYTES], work[64 + "
    "NET_ACTIVATIONS_BYTES];\n"
    "static void *aligned(unsigned char *p)\n"
    "{\n"
    "    return p + (64 - (uintptr_t)p % 64) % 64;\n"
    "}\n"
    "int main(void)\n"
    "{\n"
    "    tlm_options o = TLM_OPTIONS_INIT;\n"
    "    net *model;\n"
    "    o.abi = NET_ABI;\n"
    "    o.weights = aligned(weights), o.weights_bytes = NET_WEIGHTS_BYTES;\n"
    "    o.state = aligned(state), o.state_bytes = NET_STATE_BYTES;\n"
    "    o.activations = aligned(work), o.activations_bytes = NET_ACTIVATIONS_BYTES;\n"
    "    if (net_create(&model, &o) != TLM_OK)\n"
    "        return 1;\n"
    "    for (int i = 0; i < 6; i++)\n"
    "        net_input_x(model)[i] = (float)i;\n"
    "    if (net_infer(model) != TLM_OK)\n"
    "        return 2;\n"
    "    for (int i = 0; i < 6; i++)\n"
    "        if (net_output_y(model)[i] != 2.0f * (float)i + 1.0f)\n"
    "            return 3;\n"
    "    o.abi++;\n"
    "    return net_create(&model, &o) == TLM_ERR_ABI && !model ? 0 : 4;\n"
    "}\n";

static void user_kernel(void **state)
{
    struct fixture *f = *state;
    char command[64];

    must_emit(f, softmax_model, my_capsules);
    assert_non_null(strstr(text_of(f, "net.c"), "#include \"my_softmax.h\""));
    assert_non_null(strstr(text_of(f, "net.c"), "TLM_TRY(my_softmax(&args));"));
    assert_non_null(strstr(text_of(f, "CMakeLists.txt"), "-lmy_npu -L/opt/npu"));
    assert_int_equal(f->emission.link_count, 1);
    assert_string_equal(f->emission.links[0], "-lmy_npu -L/opt/npu");
    put(f, "my_softmax.c", my_kernel);
    put(f, "my_softmax.h", my_header);
    put(f, "user.c", my_main);
    compile(f, "cc", "net.c my_softmax.c user.c -o user -lm");
    snprintf(command, sizeof command, "./%s/user", f->folder);
    assert_int_equal(system(command), 0);
}

/* Capsules that promise too much: softmax's kernel takes no block number. */
static const char sharing_capsules[] =
    "defaults {\n"
    "  provider native-cuda; device cuda; trust checked; vjp backend-vjp;\n"
    "  shape guard \"rank <= 8\"; layout guard \"flat row-major device storage\";\n"
    "  value tests \"ops/{op}/native_cuda\"; vjp tests \"gradients/{op}\";\n"
    "  numeric round=nearest-even subnormal=gradual-underflow contract=fused reduce=fixed-tree;\n"
    "  arithmetic {op}.tree64.v1; abi template; header tlmk_cuda.h; fuses launch;\n"
    "}\n"
    "capsule my.softmax { op softmax; symbol tlmk_f32_softmax__cuda_row; }\n"
    "capsule my.log_softmax { op log_softmax; symbol tlmk_f32_log_softmax__cuda_row; }\n";

static void kernels_that_share_no_launch(void **state)
{
    struct fixture *f = *state;

    f->device = "cuda";
    assert_false(emit(f,
                      "model net;\n"
                      "input x: f32[2, 3];\n"
                      "output y = softmax(x);\n"
                      "output z = log_softmax(x);\n",
                      sharing_capsules));
    assert_non_null(f->diags.first);
    assert_string_equal(f->diags.first->text,
                        "capsule 'my.softmax' fuses launch, but its kernel cannot be part of one");
    assert_null(f->diags.first->next);
}

/* ---- shapes of text */

static void long_phases_are_cut(void **state)
{
    struct fixture *f = *state;
    const char *text;

    must_emit(f,
              "model net;\n"
              "input x: f32[2, 8];\n"
              "for i in 0..40 {\n"
              "  x = relu(linear(x, 8) as layers[i]);\n"
              "}\n"
              "output x;\n",
              NULL);
    text = text_of(f, "net.c");
    assert_non_null(strstr(text, "static tlm_status part_infer_1(net *m)"));
    assert_non_null(strstr(text, "static tlm_status part_infer_2(net *m)"));
    assert_non_null(strstr(text, "    TLM_TRY(part_infer_2(m));\n"));
    compile(f, "cc", "-c net.c net_main.c");
}

static void one_body_for_equal_steps(void **state)
{
    struct fixture *f = *state;
    const char *text, *first;

    must_emit(f,
              "model net;\n"
              "input x: f32[2, 8];\n"
              "for i in 0..3 {\n"
              "  x = relu(linear(x, 8) as layers[i]);\n"
              "}\n"
              "output x;\n",
              NULL);
    text = text_of(f, "net.c");
    first = strstr(text, "TLM_STEP(run_matmul_2x8x8_nt,");
    assert_non_null(first);
    assert_null(strstr(first + 1, "TLM_STEP(run_matmul"));
}

/* The name of the model is also that of a local, of an input, of a macro: nothing collides. */
static void names_do_not_collide(void **state)
{
    struct fixture *f = *state;

    must_emit(f,
              "model net;\n"
              "input  m:     f32[3];\n"
              "input  net:   f32[3];\n"
              "input  level: f32[3];\n"
              "input  NULL:  f32[3];\n"
              "input  exp:   f32[3];\n"
              "int_ = m + level + net;\n"
              "args = int_ * NULL - exp;\n"
              "output int_, args;\n",
              NULL);
    compile(f, "cc", "-c net.c net_main.c");
}

static void both_compilers(void **state)
{
    struct fixture *f = *state;

    must_emit(
        f,
        "model net;\n"
        "dim batch = 4;\n"
        "input  x: f32[batch, 6];\n"
        "target y: i32[batch];\n"
        "state seen: f32[6] = zeros();\n"
        "if training { update seen = 0.9 * seen + 0.1 * reduce_mean(x, axis = [0]); }\n"
        "h      = dropout(gelu(layer_norm(linear(x - seen, 8)) as ln), 0.1);\n"
        "logits = linear(h, 3) as head;\n"
        "output logits, best = argmax(logits, axis = 1);\n"
        "loss   cross_entropy(logits, y);\n"
        "metric hit = argmax(logits, axis = 1) == y;\n"
        "train { data \"d.csv\" { x = columns(0..6); y = columns(6); } optimizer adamw(lr = 0.1) "
        "{\n"
        "  group \"*.bias\" { weight_decay = 0.0; } } clip norm(1.0); steps 3; accumulate 2; }\n",
        NULL);
    for (int i = 0; i < 2; i++) {
        const char *cc = i ? "clang" : "gcc";

        if (has_compiler(cc))
            compile(f, cc, "-c net.c net_main.c");
        else
            print_message("not run: %s is not installed\n", cc);
    }
}

static void calls_nothing_forbidden(void **state)
{
    static const char *const forbidden[] = { "malloc(", "calloc(",  "realloc(", "free(",
                                             "printf(", "fopen(",   "exit(",    "abort(",
                                             "stdio.h", "stdlib.h", "#pragma" };
    struct fixture *f = *state;

    must_emit(f, softmax_model, NULL);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        assert_null(strstr(text_of(f, "net.c"), forbidden[i]));
}

static void public_names_differ(void **state)
{
    static const char *const models[] = {
        ("model m;\nentry a { input x: f32[2]; output y = x + 1.0; }\n"
         "entry a_input_x { input x: f32[2]; output y = x + 2.0; }\n"),
        "model m;\ninput _x: f32[2];\ninput v_x: f32[2];\noutput y = _x + v_x;\n",
        "model M;\nentry ABI { input x: f32[2]; output y = x + 1.0; }\n",
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        f->diags.first = f->diags.last = NULL;
        f->diags.errors = 0;
        assert_false(emit(f, models[i], NULL));
        assert_int_equal(f->diags.first->code, TLMC_E_NOT_EMITTABLE);
        assert_int_not_equal(f->diags.first->span.file, 0);
        assert_non_null(strstr(f->diags.first->text, "two parts of the emitted program"));
    }
}

static void a_model_needs_a_free_name(void **state)
{
    struct fixture *f = *state;

    assert_false(emit(f, "model exp;\ninput x: f32[1];\noutput y = x + 1.0;\n", NULL));
    assert_int_equal(f->diags.first->code, TLMC_E_NOT_EMITTABLE);
    assert_string_equal(
        f->diags.first->text,
        "model 'exp' needs another name: this one has a meaning in C or in generated code");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(user_kernel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kernels_that_share_no_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_phases_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_body_for_equal_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_do_not_collide, set_up, tear_down),
        cmocka_unit_test_setup_teardown(public_names_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_model_needs_a_free_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_compilers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_nothing_forbidden, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
