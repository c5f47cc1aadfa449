/* Reductions: the bits of tree64 at sizes around lanes, chunks and column blocks, for every level
   and cut; order-free ones and argmax against plain loops; the reference kernels. */
#include "kernel_test.h"

#include "tlmk_cpu.h"
#include "tlmk_ref.h"

struct job {
    float *y, *dx;
    int32_t *yi;
    const float *x, *g, *extreme;
    const int32_t *xi;
    size_t O, R, I;
    const float *want;
    const int32_t *want_i;
    size_t count; /* of results */
};

#define STEP(name, kernel, ...)                                   \
    TLM_STEP(name, struct job)                                    \
    {                                                             \
        kernel(level, __VA_ARGS__, m->O, m->R, m->I, begin, end); \
    }                                                             \
    TLM_LEVELS(name, struct job)

STEP(sum, tlmk_f32_reduce_sum__cpu_tree64, m->y, m->x)
STEP(mean, tlmk_f32_reduce_mean__cpu_tree64, m->y, m->x)
STEP(largest, tlmk_f32_reduce_max__cpu_rows, m->y, m->x)
STEP(smallest, tlmk_f32_reduce_min__cpu_rows, m->y, m->x)
STEP(sum_i, tlmk_i32_reduce_sum__cpu_tree64, m->yi, m->xi)
STEP(largest_i, tlmk_i32_reduce_max__cpu_rows, m->yi, m->xi)
STEP(smallest_i, tlmk_i32_reduce_min__cpu_rows, m->yi, m->xi)
STEP(extreme_vjp, tlmk_f32_reduce_extreme_vjp__cpu_rows, m->dx, m->g, m->x, m->extreme)
STEP(argmax, tlmk_f32_argmax__cpu_rows, m->yi, m->x)
STEP(argmax_i, tlmk_i32_argmax__cpu_rows, m->yi, m->xi)
STEP(ref_sum, tlmk_f32_reduce_sum__ref_left, m->y, m->x)
STEP(ref_mean, tlmk_f32_reduce_mean__ref_left, m->y, m->x)
STEP(ref_largest, tlmk_f32_reduce_max__ref_rows, m->y, m->x)
STEP(ref_smallest, tlmk_f32_reduce_min__ref_rows, m->y, m->x)
STEP(ref_sum_i, tlmk_i32_reduce_sum__ref_left, m->yi, m->xi)
STEP(ref_largest_i, tlmk_i32_reduce_max__ref_rows, m->yi, m->xi)
STEP(ref_smallest_i, tlmk_i32_reduce_min__ref_rows, m->yi, m->xi)
STEP(ref_extreme_vjp, tlmk_f32_reduce_extreme_vjp__ref_rows, m->dx, m->g, m->x, m->extreme)
STEP(ref_argmax, tlmk_f32_argmax__ref_rows, m->yi, m->x)
STEP(ref_argmax_i, tlmk_i32_argmax__ref_rows, m->yi, m->xi)

static const size_t shapes[][3] = {
    { 1, 0, 1 },    { 3, 0, 5 },     { 0, 4, 2 },      { 2, 3, 0 },     { 1, 1, 1 },
    { 7, 1, 1 },    { 3, 2, 1 },     { 5, 31, 1 },     { 2, 63, 1 },    { 2, 64, 1 },
    { 2, 65, 1 },   { 1, 127, 1 },   { 2, 4095, 1 },   { 1, 4096, 1 },  { 2, 4097, 1 },
    { 1, 8192, 1 }, { 1, 12345, 1 }, { 1, 300007, 1 }, { 1, 5, 15 },    { 2, 5, 16 },
    { 3, 64, 17 },  { 1, 65, 33 },   { 2, 1, 19 },     { 1, 4096, 16 }, { 1, 4097, 3 },
    { 1, 9000, 20 }
};

static size_t elements(const size_t *shape)
{
    return shape[0] * shape[1] * shape[2];
}

static void new_job(struct job *j, const size_t *shape, int special)
{
    const size_t n = elements(shape);
    float *x = floats(n), *g = floats(shape[0] * shape[2]);
    int32_t *xi = allocate(n * sizeof *xi);

    memset(j, 0, sizeof *j);
    j->O = shape[0];
    j->R = shape[1];
    j->I = shape[2];
    j->count = j->O * j->I;
    fill_uniform(x, n, 11, 1.0f);
    for (size_t i = 0; i < n; i += 3)
        x[i] = (float)((int)(i % 5) - 2) * 0.5f; /* ties */
    if (special)
        sprinkle(x, n, 12);
    fill_uniform(g, j->count, 13, 1.0f);
    for (size_t i = 0; i < n; i++)
        xi[i] = (int32_t)(float_bits(x[i]) * 2654435761u);
    j->x = x;
    j->g = g;
    j->xi = xi;
    j->y = floats(j->count);
    j->dx = floats(n);
    j->yi = allocate(j->count * sizeof *j->yi);
}

static void free_job(struct job *j)
{
    free((void *)(uintptr_t)j->x);
    free((void *)(uintptr_t)j->g);
    free((void *)(uintptr_t)j->xi);
    free(j->y);
    free(j->dx);
    free(j->yi);
}

static void prepare(void *job)
{
    struct job *j = job;

    memset(j->y, 0x7f, j->count * sizeof *j->y);
    memset(j->yi, 0x7f, j->count * sizeof *j->yi);
    memset(j->dx, 0x7f, j->count * j->R * sizeof *j->dx);
}

static char what[64];

static void check(const void *job)
{
    const struct job *j = job;

    snprintf(what, sizeof what, "[%zu, %zu, %zu]", j->O, j->R, j->I);
    assert_same_floats(what, j->y, j->want, j->count);
}

static void check_i(const void *job)
{
    const struct job *j = job;

    for (size_t i = 0; i < j->count; i++)
        assert_int_equal(j->yi[i], j->want_i[i]);
}

static void check_dx(const void *job)
{
    const struct job *j = job;

    assert_same_floats("gradient", j->dx, j->want, j->count * j->R);
}

static void run(struct job *j, tlm_range_fn *const *steps, void (*checker)(const void *))
{
    run_everywhere(steps, j, TLMK_REDUCE_ITEMS(j->O, j->R, j->I), prepare, checker);
}

static void sums(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int special = 0; special < 2; special++) {
            struct job j;
            float *terms = floats(shapes[s][1]), *want;

            new_job(&j, shapes[s], special);
            want = floats(j.count);
            for (size_t o = 0; o < j.O; o++)
                for (size_t i = 0; i < j.I; i++) {
                    for (size_t r = 0; r < j.R; r++)
                        terms[r] = j.x[(o * j.R + r) * j.I + i];
                    want[o * j.I + i] = exact_tree64(terms, j.R);
                }
            j.want = want;
            run(&j, sum, check);
            for (size_t i = 0; i < j.count; i++)
                want[i] = want[i] / (float)j.R;
            run(&j, mean, check);
            free(terms);
            free(want);
            free_job(&j);
        }
}

/* Order does not matter to these: the reference kernels have the same bits. */
static void order_free(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int special = 0; special < 2; special++) {
            static const struct {
                tlm_range_fn *const *fast, *const *ref;
                int kind; /* 0 float, 1 int, 2 gradient */
            } pairs[] = { { largest, ref_largest, 0 },       { smallest, ref_smallest, 0 },
                          { sum_i, ref_sum_i, 1 },           { largest_i, ref_largest_i, 1 },
                          { smallest_i, ref_smallest_i, 1 }, { argmax, ref_argmax, 1 },
                          { argmax_i, ref_argmax_i, 1 },     { extreme_vjp, ref_extreme_vjp, 2 } };
            struct job j;

            new_job(&j, shapes[s], special);
            for (size_t p = 0; p < COUNT(pairs); p++) {
                const size_t n = j.count * (pairs[p].kind == 2 ? j.R : 1);
                float *want = floats(n);
                int32_t *want_i = allocate(n * sizeof *want_i);
                float *extreme = floats(j.count);

                if (j.R == 0 && (pairs[p].fast == argmax || pairs[p].fast == argmax_i)) {
                    free(want);
                    free(want_i);
                    free(extreme);
                    continue; /* an empty axis is refused */
                }
                ref_largest[0](&j, 0, TLMK_REDUCE_ITEMS(j.O, j.R, j.I));
                memcpy(extreme, j.y, j.count * sizeof *extreme);
                j.extreme = extreme;
                pairs[p].ref[0](&j, 0, TLMK_REDUCE_ITEMS(j.O, j.R, j.I));
                memcpy(want, pairs[p].kind == 2 ? j.dx : j.y,
                       (pairs[p].kind == 1 ? 0 : n) * sizeof *want);
                memcpy(want_i, j.yi, (pairs[p].kind == 1 ? n : 0) * sizeof *want_i);
                j.want = want;
                j.want_i = want_i;
                run(&j, pairs[p].fast,
                    pairs[p].kind == 0   ? check
                    : pairs[p].kind == 1 ? check_i
                                         : check_dx);
                free(want);
                free(want_i);
                free(extreme);
            }
            free_job(&j);
        }
}

/* Policies by hand. */
static void policies(void **state)
{
    static const float zeros[] = { -0.0f, 0.0f, -0.0f }, nans[] = { 1.0f, NAN, INFINITY, NAN };
    static const float ties[] = { 2.0f, 1.0f, 2.0f, 2.0f }, seed[] = { 3.0f }, two[] = { 2.0f };
    static const int32_t wrap[] = { INT32_MAX, 1 };
    struct job j;
    const size_t shape[] = { 1, 4, 1 };

    (void)state;
    new_job(&j, shape, 0);
    free((void *)(uintptr_t)j.x);
    j.R = 3;
    j.x = zeros;
    largest[0](&j, 0, 1);
    assert_int_equal(float_bits(j.y[0]), 0);
    smallest[0](&j, 0, 1);
    assert_int_equal(float_bits(j.y[0]), 0x80000000u);
    sum[0](&j, 0, 1);
    assert_int_equal(float_bits(j.y[0]), 0); /* lanes start at +0 */
    argmax[0](&j, 0, 1);
    assert_int_equal(j.yi[0], 0); /* equal zeros: the first */
    j.R = 4;
    j.x = nans;
    largest[0](&j, 0, 1);
    assert_true(isnan(j.y[0]));
    smallest[0](&j, 0, 1);
    assert_true(isnan(j.y[0]));
    argmax[0](&j, 0, 1);
    assert_int_equal(j.yi[0], 1);
    j.x = ties;
    argmax[0](&j, 0, 1);
    assert_int_equal(j.yi[0], 0);
    free((void *)(uintptr_t)j.g);
    j.g = seed;
    j.extreme = two;
    extreme_vjp[0](&j, 0, 1);
    assert_true(j.dx[0] == 1.0f && j.dx[1] == 0.0f && j.dx[2] == 1.0f && j.dx[3] == 1.0f);
    j.R = 0;
    largest[0](&j, 0, 1);
    assert_true(j.y[0] == -INFINITY);
    smallest[0](&j, 0, 1);
    assert_true(j.y[0] == INFINITY);
    mean[0](&j, 0, 1);
    assert_true(isnan(j.y[0]));
    j.R = 2;
    free((void *)(uintptr_t)j.xi);
    j.xi = wrap;
    sum_i[0](&j, 0, 1);
    assert_int_equal(j.yi[0], INT32_MIN);
    free(j.y);
    free(j.dx);
    free(j.yi);
}

/* More than 4096 chunks: the third level of the tree, and the same for columns. */
static void third_level(void **state)
{
    const size_t n = (size_t)4096 * 4096 + 4096 * 70 + 5;
    float *x = floats(n), result[TLMK_COLUMNS], want;
    struct tlmk_columns t;

    (void)state;
    fill_uniform(x, n, 21, 1.0f);
    want = exact_tree64(x, n);
    assert_true(same_bits(tlmk_sum(x, n), want));
    tlmk_columns_begin(&t, n);
    for (size_t i = 0; i < n; i++) {
        tlmk_columns_lane(&t)[3] += x[i];
        tlmk_columns_next(&t);
    }
    tlmk_columns_end(&t, result);
    assert_true(same_bits(result[3], want));
    assert_true(result[0] == 0.0f);
    free(x);
}

/* Left folds differ from trees by rounding only. */
static void reference(void **state)
{
    const size_t shape[] = { 2, 5000, 3 };
    struct job j;
    float want[6];

    (void)state;
    new_job(&j, shape, 0);
    sum[0](&j, 0, TLMK_REDUCE_ITEMS(2, 5000, 3));
    memcpy(want, j.y, sizeof want);
    ref_sum[0](&j, 0, TLMK_REDUCE_ITEMS(2, 5000, 3));
    /* 5000 terms of magnitude up to 1, sums up to 5000 * 2^-24 * (partial sums below 100) off */
    for (size_t i = 0; i < 6; i++)
        assert_true(fabs((double)want[i] - (double)j.y[i]) < 5000 * 100 * 0x1p-24);
    ref_mean[0](&j, 0, TLMK_REDUCE_ITEMS(2, 5000, 3));
    for (size_t i = 0; i < 6; i++)
        assert_true(fabs((double)want[i] / 5000 - (double)j.y[i]) < 100 * 0x1p-24);
    free_job(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sums), cmocka_unit_test(order_free),
                                        cmocka_unit_test(policies), cmocka_unit_test(third_level),
                                        cmocka_unit_test(reference) };

    report_levels();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
