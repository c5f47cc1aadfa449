/* Every symbol that an available CUDA capsule names exists in the header it names, as device code;
   the table is made from the registry at build time.  Names that the emitter derives stand below.
   Compiled by g++ through the host's CUDA language; nothing runs but the count. */
#include <stddef.h>
#include <stdio.h>

struct symbol {
    const char *capsule, *name;
    size_t address; /* bytes of one: it is declared */
};

#include "registry_symbols_cuda.inc"

/* dtype suffixes, masked softmax, casts, long sums */
/* clang-format off */
#define ADDRESS(name) { "derived", #name, sizeof(decltype(&name)) },
#define TYPES(op) ADDRESS(tlm_##op) ADDRESS(tlm_##op##_i32) ADDRESS(tlm_##op##_bool)
#define NUMERIC(op) ADDRESS(tlm_##op) ADDRESS(tlm_##op##_i32)
static const struct symbol derived[] = {
    NUMERIC(add) NUMERIC(sub) NUMERIC(mul) NUMERIC(max) NUMERIC(min)
    TYPES(eq) TYPES(ne) TYPES(lt) TYPES(le) TYPES(gt) TYPES(ge) TYPES(where)
    ADDRESS(tlm_cast_f32_f32) ADDRESS(tlm_cast_f32_i32) ADDRESS(tlm_cast_f32_bool)
    ADDRESS(tlm_cast_i32_i32) ADDRESS(tlm_cast_i32_bool) ADDRESS(tlm_cast_bool_i32)
    ADDRESS(tlm_cast_bool_bool) ADDRESS(tlm_cast_i32_f32) ADDRESS(tlm_cast_bool_f32)
    ADDRESS(tlmk_f32_softmax_masked__cuda_row)
    ADDRESS(tlmk_f32_reduce_chunks__cuda_tree64) ADDRESS(tlmk_f32_mean_of_parts__cuda_tree64)
    ADDRESS(tlmk_f32_global_norm_parts__cuda_tree64) ADDRESS(tlmk_f32_global_norm_sums__cuda_tree64)
    ADDRESS(tlmk_f32_mse_chunks__cuda_tree64) ADDRESS(tlmk_i32_check_index__cuda_block)
    ADDRESS(tlmk_probe)
};
/* clang-format on */

int main()
{
    const size_t count = sizeof registry_symbols / sizeof *registry_symbols;

    printf("%zu symbols of capsules, %zu derived\n", count, sizeof derived / sizeof *derived);
    return count > 120 ? 0 : 1; /* an empty list would prove nothing */
}
