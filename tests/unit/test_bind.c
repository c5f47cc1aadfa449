/* A capsule gets its emitter only when op, provider and device agree; every op that computes has
   one. */
#include "bind.h"
#include "strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct tlmc_capsule capsule(const char *name, enum tlmc_op op, const char *provider,
                                   enum tlmc_device device)
{
    return (struct tlmc_capsule){ .name = name, .op = op, .provider = provider, .device = device };
}

static void all_three_agree(void **state)
{
    const struct tlmc_capsule k =
        capsule("native_c.softmax", TLMC_OP_SOFTMAX, "native-c", TLMC_CPU);
    struct tlmc_arena arena = { 0 };
    struct tlmc_handler handler;

    (void)state;
    assert_true(tlmc_handler_find(TLMC_OP_SOFTMAX, "native-c", TLMC_CPU, &arena, &handler));
    assert_null(tlmc_bind(&handler, &k, &arena));
    assert_non_null(handler.emit);
    tlmc_arena_free(&arena);
}

static void differences_are_told(void **state)
{
    const struct tlmc_capsule other_op =
        capsule("native_c.relu", TLMC_OP_RELU, "native-c", TLMC_CPU);
    const struct tlmc_capsule other_provider =
        capsule("openblas.softmax", TLMC_OP_SOFTMAX, "openblas", TLMC_CPU);
    const struct tlmc_capsule other_device =
        capsule("native_cuda.softmax", TLMC_OP_SOFTMAX, "native-c", TLMC_CUDA);
    struct tlmc_arena arena = { 0 };
    struct tlmc_handler handler;

    (void)state;
    assert_true(tlmc_handler_find(TLMC_OP_SOFTMAX, "native-c", TLMC_CPU, &arena, &handler));
    assert_string_equal(
        tlmc_bind(&handler, &other_op, &arena),
        "handler `c.native-c.softmax` implements `softmax`, but capsule `native_c.relu` "
        "implements `relu`");
    assert_string_equal(
        tlmc_bind(&handler, &other_provider, &arena),
        "handler `c.native-c.softmax` uses provider `native-c`, but capsule `openblas.softmax` "
        "uses provider `openblas`");
    assert_string_equal(
        tlmc_bind(&handler, &other_device, &arena),
        "handler `c.native-c.softmax` targets `cpu`, but capsule `native_cuda.softmax` targets "
        "`cuda`");
    tlmc_arena_free(&arena);
}

static void every_op_has_an_emitter(void **state)
{
    struct tlmc_arena arena = { 0 };

    (void)state;
    for (int op = 0; op < TLMC_OP_COUNT; op++) {
        const enum tlmc_family family = tlmc_op_info((enum tlmc_op)op)->family;
        struct tlmc_handler handler;

        if (family == TLMC_LEAF || family == TLMC_VIEW)
            continue;
        if (!tlmc_handler_find((enum tlmc_op)op, "native-c", TLMC_CPU, &arena, &handler))
            fail_msg("op '%s' has no emitter", tlmc_op_info((enum tlmc_op)op)->name);
        assert_true((handler.formula != NULL) == (family == TLMC_POINTWISE));
    }
    tlmc_arena_free(&arena);
}

/* A bundled program holds the header of each kernel it calls: it is there and has that kernel.
   (Moves share one kernel, embedding is gather, store is copy.) */
static void headers_hold_their_kernels(void **state)
{
    static const char *const providers[] = { "native-c", "reference" };
    struct tlmc_arena arena = { 0 };

    (void)state;
    for (int i = 0; i < 2 * TLMC_OP_COUNT; i++) {
        const enum tlmc_op op = (enum tlmc_op)(i / 2);
        const struct tlmc_op_info *info = tlmc_op_info(op);
        struct tlmc_handler handler;
        struct tlmc_strbuf text = { 0 };
        FILE *file;

        if (!tlmc_handler_find(op, providers[i % 2], TLMC_CPU, &arena, &handler) || !handler.header)
            continue;
        file = fopen(tlmc_arena_printf(&arena, TLMC_SOURCE_DIR "/kernels_cpu/%s", handler.header),
                     "r");
        if (!file)
            fail_msg("%s of '%s' does not exist", handler.header, info->name);
        for (int c = getc(file); c != EOF; c = getc(file))
            tlmc_strbuf_printf(&text, "%c", c);
        fclose(file);
        if (info->family != TLMC_MOVE && op != TLMC_OP_STORE && op != TLMC_OP_EMBEDDING &&
            !strstr(tlmc_strbuf_text(&text), info->name))
            fail_msg("%s has no kernel of '%s'", handler.header, info->name);
        tlmc_strbuf_free(&text);
    }
    tlmc_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_three_agree),
        cmocka_unit_test(differences_are_told),
        cmocka_unit_test(every_op_has_an_emitter),
        cmocka_unit_test(headers_hold_their_kernels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
