/* matmul: the bits of chain512 for every flag, level and cut, at sizes around every tile edge;
   broadcast batch axes; special values; the reference kernel within rounding. */
#include "kernel_test.h"

#include "tlmk_cpu.h"
#include "tlmk_ref.h"

struct job {
    float *c;
    const float *a, *b;
    size_t M, N, K;
    int ta, tb;
    int rank;
    size_t dims[2], a_strides[2], b_strides[2];
    size_t count;
    const float *want;
};

TLM_STEP(matmul, struct job)
{
    tlmk_f32_matmul__cpu_packed(level, m->c, m->a, m->b, m->M, m->N, m->K, m->ta, m->tb, m->rank,
                                m->dims, m->a_strides, m->b_strides, begin, end);
}
TLM_LEVELS(matmul, struct job)

TLM_STEP(matmul_ref, struct job)
{
    tlmk_f32_matmul__ref_left(level, m->c, m->a, m->b, m->M, m->N, m->K, m->ta, m->tb, m->rank,
                              m->dims, m->a_strides, m->b_strides, begin, end);
}
TLM_LEVELS(matmul_ref, struct job)

/* docs/numerics.md, Products, word for word */
static float exact_chain512(const struct job *j, const float *a, const float *b, size_t row,
                            size_t col)
{
    float sum = 0.0f;

    for (size_t block = 0; block < j->K; block += 512) {
        float acc = 0.0f;

        for (size_t k = block; k < j->K && k < block + 512; k++)
            acc = fmaf(a[j->ta ? k * j->M + row : row * j->K + k],
                       b[j->tb ? col * j->K + k : k * j->N + col], acc);
        sum = block == 0 ? acc : sum + acc;
    }
    return sum;
}

static void exact_matmul(const struct job *j, float *want)
{
    const size_t batches = j->rank == 2 ? j->dims[0] * j->dims[1] : 1;

    for (size_t batch = 0; batch < batches; batch++) {
        const float *a = j->a, *b = j->b;

        if (j->rank == 2) {
            a += batch / j->dims[1] * j->a_strides[0] + batch % j->dims[1] * j->a_strides[1];
            b += batch / j->dims[1] * j->b_strides[0] + batch % j->dims[1] * j->b_strides[1];
        }
        for (size_t row = 0; row < j->M; row++)
            for (size_t col = 0; col < j->N; col++)
                want[(batch * j->M + row) * j->N + col] = exact_chain512(j, a, b, row, col);
    }
}

static void prepare(void *job)
{
    struct job *j = job;

    memset(j->c, 0xff, (j->count + 1) * sizeof *j->c);
}

static void check(const void *job)
{
    const struct job *j = job;
    char what[96];

    snprintf(what, sizeof what, "%zux%zux%zu ta=%d tb=%d", j->M, j->N, j->K, j->ta, j->tb);
    assert_same_floats(what, j->c, j->want, j->count);
    assert_int_equal(float_bits(j->c[j->count]), UINT32_MAX); /* nothing past the end */
}

static void run_case(struct job *j, size_t batches)
{
    float *want;
    const size_t items = TLMK_MATMUL_ITEMS(j->M, j->N, batches);

    j->count = batches * j->M * j->N;
    j->c = floats(j->count + 1);
    j->want = want = floats(j->count);
    exact_matmul(j, want);
    run_everywhere(matmul, j, items, prepare, check);
    free(j->c);
    free(want);
}

enum { MOST = 1025 };

struct data {
    float *a, *b;
};

static int setup(void **state)
{
    static struct data d;

    d.a = floats((size_t)MOST * 512);
    d.b = floats((size_t)MOST * 512);
    fill_uniform(d.a, (size_t)MOST * 512, 1, 1.0f);
    fill_uniform(d.b, (size_t)MOST * 512, 2, 1.0f);
    *state = &d;
    return 0;
}

static int teardown(void **state)
{
    struct data *d = *state;

    free(d->a);
    free(d->b);
    return 0;
}

static void sizes(const struct data *d, int ta, int tb)
{
    static const size_t edges[] = { 0, 1, 5, 6, 7, 12, 13, 15, 16, 17, 31, 33, 64, 65 };
    static const size_t depths[] = { 0, 1, 7, 8, 17, 64 };
    static const size_t large[][3] = { { 5, 17, 511 },   { 6, 16, 512 },  { 7, 33, 513 },
                                       { 13, 15, 1025 }, { 1, 64, 1025 }, { 1, 65, 513 },
                                       { 33, 1, 513 },   { 511, 5, 31 },  { 512, 16, 16 },
                                       { 513, 17, 15 },  { 1025, 7, 6 },  { 3, 511, 33 },
                                       { 2, 1025, 17 },  { 31, 512, 31 }, { 265, 66, 33 },
                                       { 65, 3, 1025 } };
    struct job j = { .a = d->a, .b = d->b, .ta = ta, .tb = tb };

    for (size_t x = 0; x < COUNT(edges); x++)
        for (size_t y = 0; y < COUNT(edges); y++)
            for (size_t z = 0; z < COUNT(depths); z++) {
                j.M = edges[x];
                j.N = edges[y];
                j.K = depths[z];
                if (j.M * j.N * j.K <= 20000)
                    run_case(&j, 1);
            }
    for (size_t i = 0; i < COUNT(large); i++) {
        j.M = large[i][0];
        j.N = large[i][1];
        j.K = large[i][2];
        run_case(&j, 1);
    }
}

static void plain(void **state)
{
    sizes(*state, 0, 0);
}
static void left_transposed(void **state)
{
    sizes(*state, 1, 0);
}
static void right_transposed(void **state)
{
    sizes(*state, 0, 1);
}
static void both_transposed(void **state)
{
    sizes(*state, 1, 1);
}

/* [2, 3] batches: a broadcasts along the second axis, b along the first. */
static void batches(void **state)
{
    const struct data *d = *state;

    for (int flags = 0; flags < 4; flags++) {
        struct job j = { .a = d->a,
                         .b = d->b,
                         .M = 13,
                         .N = 17,
                         .K = 65,
                         .ta = flags & 1,
                         .tb = flags >> 1,
                         .rank = 2,
                         .dims = { 2, 3 },
                         .a_strides = { 13 * 65, 0 },
                         .b_strides = { 0, 65 * 17 } };

        run_case(&j, 6);
        j.M = 1;
        j.K = 3;
        run_case(&j, 6);
    }
}

/* NaN, infinities, signed zeros and subnormals go through as the chain says. */
static void special_values(void **state)
{
    struct data copy;

    (void)state;
    copy.a = floats(4096);
    copy.b = floats(4096);
    fill_uniform(copy.a, 4096, 3, 1.0f);
    fill_uniform(copy.b, 4096, 4, 1e-30f);
    sprinkle(copy.a, 4096, 5);
    for (int flags = 0; flags < 4; flags++) {
        struct job j = { .a = copy.a, .b = copy.b, .M = 19, .N = 35, .K = 40 };

        j.ta = flags & 1;
        j.tb = flags >> 1;
        run_case(&j, 1);
        j.M = 2;
        j.N = 3;
        run_case(&j, 1);
    }
    free(copy.a);
    free(copy.b);
}

/* Left folds with separate roundings differ from chains by rounding only: K roundings of each. */
static void reference(void **state)
{
    const struct data *d = *state;

    for (int flags = 0; flags < 4; flags++) {
        struct job j = {
            .a = d->a, .b = d->b, .M = 19, .N = 21, .K = 700, .ta = flags & 1, .tb = flags >> 1
        };
        float *want;

        j.count = j.M * j.N;
        j.c = floats(j.count + 1);
        want = floats(j.count);
        exact_matmul(&j, want);
        matmul_ref[0](&j, 0, TLMK_MATMUL_ITEMS(j.M, j.N, 1));
        assert_near_floats("reference", j.c, want, j.count, 2 * 700 * 0x1p-24);
        free(j.c);
        free(want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(left_transposed),
        cmocka_unit_test(right_transposed),
        cmocka_unit_test(both_transposed),
        cmocka_unit_test(batches),
        cmocka_unit_test(special_values),
        cmocka_unit_test(reference),
    };

    report_levels();
    return cmocka_run_group_tests(tests, setup, teardown);
}
