/* Every symbol that an available CPU capsule names exists in the header it names.  The table is
   made from the registry at build time; names that the emitter derives stand below. */
#include "kernel_test.h"

struct symbol {
    const char *capsule, *name;
    void (*address)(void);
};

#include "registry_symbols.inc"

/* dtype suffixes, masked softmax, casts */
/* clang-format off */
#define ADDRESS(name) { "derived", #name, (void (*)(void))name },
#define TYPES(prefix, op) ADDRESS(prefix##op) ADDRESS(prefix##op##_i32) ADDRESS(prefix##op##_bool)
#define NUMERIC(prefix, op) ADDRESS(prefix##op) ADDRESS(prefix##op##_i32)
#define FAMILY(prefix)                                                                             \
    NUMERIC(prefix, add) NUMERIC(prefix, sub) NUMERIC(prefix, mul)                                 \
    NUMERIC(prefix, max) NUMERIC(prefix, min)                                                      \
    TYPES(prefix, eq) TYPES(prefix, ne) TYPES(prefix, lt) TYPES(prefix, le) TYPES(prefix, gt)      \
    TYPES(prefix, ge) TYPES(prefix, where) TYPES(prefix, cast_f32)                                 \
    ADDRESS(prefix##cast_i32_i32) ADDRESS(prefix##cast_i32_bool) ADDRESS(prefix##cast_bool_i32)    \
    ADDRESS(prefix##cast_bool_bool) ADDRESS(prefix##cast_i32_f32) ADDRESS(prefix##cast_bool_f32)
#define tlm_cast_f32 tlm_cast_f32_f32
#define tlmr_cast_f32 tlmr_cast_f32_f32
static const struct symbol derived[] = {
    FAMILY(tlm_) FAMILY(tlmr_)
    ADDRESS(tlmk_f32_softmax_masked__cpu_rows)
    ADDRESS(tlmk_f32_global_norm_parts__cpu_tree64)
    ADDRESS(tlmk_f32_softmax_masked__ref_rows)
};
/* clang-format on */

static void exist(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(registry_symbols); i++)
        assert_non_null(registry_symbols[i].address);
    for (size_t i = 0; i < COUNT(derived); i++)
        assert_non_null(derived[i].address);
    assert_true(COUNT(registry_symbols) > 200); /* an empty list would prove nothing */
}

/* Both CPU families are there for every kernel that is not a formula. */
static void in_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(registry_symbols); i++) {
        const char *name = registry_symbols[i].name, *mark = strstr(name, "__cpu_");
        int found = 0;

        for (size_t k = 0; mark && k < COUNT(registry_symbols); k++)
            found |= strncmp(registry_symbols[k].name, name, (size_t)(mark - name)) == 0 &&
                     strncmp(registry_symbols[k].name + (mark - name), "__ref_", 6) == 0;
        if (mark && !found)
            fail_msg("%s has no reference twin", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(exist), cmocka_unit_test(in_pairs) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
