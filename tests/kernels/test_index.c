/* Moves and indices: strided copies, the adjoint of slice, concat, gather, scatter_add, iota, for
   every level and cut, against coordinates worked out one element at a time. */
#include "kernel_test.h"

#include "tlmk_cpu.h"
#include "tlmk_ref.h"

enum { MOST = 4096 };

struct job {
    float y[MOST], want[MOST], x[MOST];
    int32_t yi[MOST], want_i[MOST], index[64];
    int rank;
    size_t dims[4], strides[4], offset, starts[4], steps[4], gdims[4];
    size_t outer, axis, inner, n, y_row, count;
    int32_t start;
};

#define STEP(name, kernel, ...)                 \
    TLM_STEP(name, struct job)                  \
    {                                           \
        kernel(level, __VA_ARGS__, begin, end); \
    }                                           \
    TLM_LEVELS(name, struct job)
#define BOTH(name, op, technique, ...)                    \
    STEP(name, tlmk_##op##__cpu_##technique, __VA_ARGS__) \
    STEP(ref_##name, tlmk_##op##__ref_##technique, __VA_ARGS__)

BOTH(copy, f32_copy, strided, m->y, m->x, m->rank, m->dims, m->strides, m->offset)
BOTH(slice_vjp, f32_slice_vjp, strided, m->y, m->x, m->rank, m->dims, m->starts, m->steps, m->gdims)
BOTH(concat, f32_concat, rows, m->y, m->y_row, m->offset, m->x, m->inner)
BOTH(gather, f32_gather, rows, m->y, m->x, m->index, m->outer, m->axis, m->inner, m->n)
BOTH(scatter, f32_scatter_add, rows, m->y, m->index, m->x, m->outer, m->axis, m->inner, m->n)
BOTH(iota, i32_iota, loop, m->yi, m->start)

static struct job job;

static void prepare(void *unused)
{
    (void)unused;
    memset(job.y, 0x7f, sizeof job.y);
    memset(job.yi, 0x7f, sizeof job.yi);
}

static void check(const void *unused)
{
    (void)unused;
    assert_same_floats("move", job.y, job.want, job.count);
}

static void run_both(tlm_range_fn *const *fast, tlm_range_fn *const *ref, size_t items)
{
    run_everywhere(fast, &job, items, prepare, check);
    run_everywhere(ref, &job, items, prepare, check);
}

static void start_job(void)
{
    memset(&job, 0, sizeof job);
    fill_uniform(job.x, MOST, 71, 1.0f);
    sprinkle(job.x, MOST, 72);
}

static void want_copy(void)
{
    job.count = 1;
    for (int i = 0; i < job.rank; i++)
        job.count *= job.dims[i];
    for (size_t e = 0; e < job.count; e++) {
        size_t rest = e, from = job.offset;

        for (int i = job.rank - 1; i >= 0; i--) {
            from += rest % job.dims[i] * job.strides[i];
            rest /= job.dims[i];
        }
        job.want[e] = job.x[from];
    }
    run_both(copy, ref_copy, TLMK_ROWS(job.rank, job.dims));
}

static void copies(void **state)
{
    (void)state;
    start_job();
    want_copy(); /* rank 0 */
    job.rank = 1;
    job.dims[0] = 37;
    job.strides[0] = 1;
    job.offset = 5;
    want_copy();
    job.strides[0] = 3; /* slice with a step */
    want_copy();
    job.strides[0] = 0; /* broadcast */
    want_copy();
    job.rank = 3; /* permute [5, 7, 11] -> [11, 5, 7] */
    memcpy(job.dims, (size_t[]){ 11, 5, 7 }, 3 * sizeof(size_t));
    memcpy(job.strides, (size_t[]){ 1, 77, 11 }, 3 * sizeof(size_t));
    want_copy();
    memcpy(job.strides, (size_t[]){ 0, 7, 1 }, 3 * sizeof(size_t));
    want_copy();
    memcpy(job.dims, (size_t[]){ 3, 37, 7 }, 3 * sizeof(size_t)); /* [3, 7, 37], axes turned */
    memcpy(job.strides, (size_t[]){ 7 * 37, 1, 37 }, 3 * sizeof(size_t));
    want_copy();
    memcpy(job.dims, (size_t[]){ 11, 5, 7 }, 3 * sizeof(size_t));
    job.dims[1] = 0;
    want_copy();
    job.dims[1] = 5;
    job.dims[2] = 0;
    want_copy();
}

static void other_types(void **state)
{
    static const size_t dims[] = { 3, 4 }, strides[] = { 1, 3 };
    int32_t xi[12], yi[12];
    uint8_t xb[12], yb[12];

    (void)state;
    for (int i = 0; i < 12; i++) {
        xi[i] = i * 100;
        xb[i] = (uint8_t)(i % 2);
    }
    tlmk_i32_copy__cpu_strided(TLM_CPU_BASE, yi, xi, 2, dims, strides, 0, 0, 3);
    tlmk_bool_copy__cpu_strided(TLM_CPU_BASE, yb, xb, 2, dims, strides, 0, 0, 3);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            assert_int_equal(yi[r * 4 + c], xi[c * 3 + r]);
            assert_int_equal(yb[r * 4 + c], xb[c * 3 + r]);
        }
}

/* y [6, 5, 9] with g at 1 + 2 i, 0 + 3 j, 2 + 1 k */
static void slices(void **state)
{
    (void)state;
    start_job();
    job.rank = 3;
    memcpy(job.dims, (size_t[]){ 6, 5, 9 }, 3 * sizeof(size_t));
    memcpy(job.starts, (size_t[]){ 1, 0, 2 }, 3 * sizeof(size_t));
    memcpy(job.steps, (size_t[]){ 2, 3, 1 }, 3 * sizeof(size_t));
    memcpy(job.gdims, (size_t[]){ 2, 2, 5 }, 3 * sizeof(size_t));
    job.count = 6 * 5 * 9;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++)
            for (size_t l = 0; l < 5; l++)
                job.want[((1 + 2 * i) * 5 + 3 * k) * 9 + 2 + l] = job.x[(i * 2 + k) * 5 + l];
    run_both(slice_vjp, ref_slice_vjp, TLMK_ROWS(3, job.dims));
    job.gdims[2] = 0; /* an empty slice: all zeros */
    memset(job.want, 0, sizeof job.want);
    run_both(slice_vjp, ref_slice_vjp, TLMK_ROWS(3, job.dims));
    job.rank = 0; /* a scalar is its own slice */
    job.count = 1;
    job.want[0] = job.x[0];
    run_both(slice_vjp, ref_slice_vjp, 1);
}

static void concats(void **state)
{
    (void)state;
    start_job();
    job.y_row = 11;
    job.offset = 4;
    job.inner = 5;
    job.count = 7 * 11;
    memset(job.want, 0x7f, sizeof job.want);
    for (size_t r = 0; r < 7; r++)
        memcpy(job.want + r * 11 + 4, job.x + r * 5, 5 * sizeof(float));
    run_both(concat, ref_concat, 7);
    job.inner = 0;
    memset(job.want, 0x7f, sizeof job.want);
    run_both(concat, ref_concat, 7);
}

static void gathers(void **state)
{
    static const size_t inners[] = { 0, 1, 7, 64, 65 };

    (void)state;
    for (size_t s = 0; s < COUNT(inners); s++) {
        start_job();
        job.outer = 2;
        job.axis = 9;
        job.inner = inners[s];
        job.n = 13;
        job.count = 2 * 13 * job.inner;
        for (size_t i = 0; i < 13; i++)
            job.index[i] = (int32_t)(i * 5 % 9);
        for (size_t o = 0; o < 2; o++)
            for (size_t i = 0; i < 13; i++)
                for (size_t k = 0; k < job.inner; k++)
                    job.want[(o * 13 + i) * job.inner + k] =
                        job.x[(o * 9 + (size_t)job.index[i]) * job.inner + k];
        run_both(gather, ref_gather, 2 * 13);
    }
}

static void prepare_scatter(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < job.count; i++)
        job.y[i] = (float)i * 0.01f;
}

/* Repeated indices: contributions add in increasing source order to the base. */
static void scatters(void **state)
{
    static const size_t inners[] = { 0, 1, 7, 64, 65, 130 };

    (void)state;
    for (size_t s = 0; s < COUNT(inners); s++) {
        size_t items;

        start_job();
        job.outer = 2;
        job.axis = 6;
        job.inner = inners[s];
        job.n = 15;
        job.count = 2 * 6 * job.inner;
        items = TLMK_SCATTER_ITEMS(2, job.inner);
        for (size_t i = 0; i < 15; i++)
            job.index[i] = (int32_t)(i * i % 6);
        prepare_scatter(NULL);
        memcpy(job.want, job.y, sizeof job.want);
        for (size_t o = 0; o < 2; o++)
            for (size_t k = 0; k < job.inner; k++)
                for (size_t i = 0; i < 15; i++)
                    job.want[(o * 6 + (size_t)job.index[i]) * job.inner + k] +=
                        job.x[(o * 15 + i) * job.inner + k];
        run_everywhere(scatter, &job, items, prepare_scatter, check);
        run_everywhere(ref_scatter, &job, items, prepare_scatter, check);
    }
}

static void check_iota(const void *unused)
{
    (void)unused;
    for (int32_t i = 0; i < 50; i++)
        assert_int_equal(job.yi[i], job.start + i);
}

static void iotas(void **state)
{
    (void)state;
    start_job();
    job.start = -7;
    run_everywhere(iota, &job, 50, prepare, check_iota);
    run_everywhere(ref_iota, &job, 50, prepare, check_iota);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies),  cmocka_unit_test(other_types), cmocka_unit_test(slices),
        cmocka_unit_test(concats), cmocka_unit_test(gathers),     cmocka_unit_test(scatters),
        cmocka_unit_test(iotas),
    };

    report_levels();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
