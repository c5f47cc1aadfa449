/* softmax, log_softmax, layer_norm, losses, random draws: the bits of the straight-line programs of
   docs/numerics.md for every level and cut; the reference kernels within rounding; policies. */
#include "kernel_test.h"

#include "tlmk_cpu.h"
#include "tlmk_ref.h"

struct job {
    float *y, *m, *s; /* results */
    const float *x, *g, *w, *b;
    const uint8_t *mask;
    const int32_t *cls;
    size_t rows, cols, row_dims[2], mask_strides[2], mask_step;
    uint64_t key, threshold;
    const float *want, *want_m, *want_s;
    size_t count, count_ms; /* elements of y, of m and s */
    const char *what;
};

#define STEP(name, kernel, ...)                 \
    TLM_STEP(name, struct job)                  \
    {                                           \
        kernel(level, __VA_ARGS__, begin, end); \
    }                                           \
    TLM_LEVELS(name, struct job)
#define BOTH(name, op, technique, ...)                        \
    STEP(name, tlmk_f32_##op##__cpu_##technique, __VA_ARGS__) \
    STEP(ref_##name, tlmk_f32_##op##__ref_##technique, __VA_ARGS__)

BOTH(softmax, softmax, rows, m->y, m->x, m->rows, m->cols)
BOTH(masked, softmax_masked, rows, m->y, m->x, m->mask, m->rows, m->cols, 2, m->row_dims,
     m->mask_strides, m->mask_step)
BOTH(softmax_vjp, softmax_vjp, rows, m->y, m->g, m->x, m->rows, m->cols)
BOTH(log_softmax, log_softmax, rows, m->y, m->x, m->rows, m->cols)
BOTH(log_softmax_vjp, log_softmax_vjp, rows, m->y, m->g, m->x, m->rows, m->cols)
BOTH(layer_norm, layer_norm, rows, m->y, m->m, m->s, m->x, m->w, m->b, m->rows, m->cols, 1e-5f)
BOTH(layer_norm_vjp, layer_norm_vjp, rows, m->y, m->g, m->x, m->w, m->m, m->s, m->rows, m->cols)
BOTH(cross_entropy, cross_entropy, rows, m->y, m->m, m->s, m->x, m->cls, m->rows, m->cols)
BOTH(cross_entropy_vjp, cross_entropy_vjp, rows, m->y, m->g, m->x, m->cls, m->m, m->s, m->rows,
     m->cols)
BOTH(mse_loss_vjp, mse_loss_vjp, loop, m->y, m->g, m->x, m->w, m->count)
BOTH(rand_uniform, rand_uniform, loop, m->y, m->key)
BOTH(bernoulli, bernoulli_mask, loop, m->y, m->key, m->threshold)
STEP(weight, tlmk_f32_layer_norm_vjp_weight__cpu_columns, m->m, m->s, m->g, m->x, m->w, m->b,
     m->rows, m->cols)
STEP(ref_weight, tlmk_f32_layer_norm_vjp_weight__ref_columns, m->m, m->s, m->g, m->x, m->w, m->b,
     m->rows, m->cols)

static void prepare(void *job)
{
    struct job *j = job;

    if (j->count)
        memset(j->y, 0x7f, j->count * sizeof *j->y);
    if (j->want_m) {
        memset(j->m, 0x7f, j->count_ms * sizeof *j->m);
        memset(j->s, 0x7f, j->count_ms * sizeof *j->s);
    }
}

static void check(const void *job)
{
    const struct job *j = job;

    assert_same_floats(j->what, j->y, j->want, j->count);
    if (j->want_m) {
        assert_same_floats(j->what, j->m, j->want_m, j->count_ms);
        assert_same_floats(j->what, j->s, j->want_s, j->count_ms);
    }
}

static const size_t shapes[][2] = { { 1, 1 },   { 3, 2 },    { 2, 10 }, { 5, 15 }, { 2, 16 },
                                    { 2, 17 },  { 4, 63 },   { 2, 64 }, { 3, 65 }, { 2, 127 },
                                    { 1, 768 }, { 2, 4097 }, { 0, 7 },  { 3, 0 } };

/* One of everything, twice: plain values, and with special ones. */
static void each(void (*test)(struct job *j, float *want, float *want_m, float *want_s,
                              int special))
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int special = 0; special < 2; special++) {
            const size_t rows = shapes[i][0], cols = shapes[i][1], n = rows * cols;
            float *x = floats(n), *g = floats(n + rows), *w = floats(n + cols),
                  *b = floats(n + cols);
            float *want = floats(n + rows), *want_m = floats(n + rows + cols),
                  *want_s = floats(n + rows + cols);
            int32_t *cls = allocate(rows * sizeof *cls);
            struct job j = { .x = x,
                             .g = g,
                             .w = w,
                             .b = b,
                             .cls = cls,
                             .rows = rows,
                             .cols = cols,
                             .count = n,
                             .y = floats(n + rows),
                             .m = floats(n + rows + cols),
                             .s = floats(n + rows + cols) };

            fill_uniform(x, n, 31 + i, 4.0f);
            fill_uniform(g, n + rows, 32, 1.0f);
            fill_uniform(w, n + cols, 33, 2.0f);
            fill_uniform(b, n + cols, 34, 1.0f);
            if (special)
                sprinkle(x, n, 35 + i);
            for (size_t r = 0; r < rows; r++)
                cls[r] = cols ? (int32_t)((r * 7 + 3) % cols) : 0;
            test(&j, want, want_m, want_s, special);
            free(x);
            free(g);
            free(w);
            free(b);
            free(want);
            free(want_m);
            free(want_s);
            free(cls);
            free(j.y);
            free(j.m);
            free(j.s);
        }
}

static float row_max(const float *x, size_t n)
{
    float m = -INFINITY;

    for (size_t i = 0; i < n; i++)
        m = tlmr_max(m, x[i]);
    return m;
}

/* ---- softmax */
static void softmax_case(struct job *j, float *want, float *want_m, float *want_s, int special)
{
    (void)want_m;
    (void)want_s;
    for (size_t r = 0; r < j->rows; r++) {
        const float *x = j->x + r * j->cols, m = row_max(x, j->cols);
        float *y = want + r * j->cols, s;

        for (size_t c = 0; c < j->cols; c++)
            y[c] = tlm_exp(x[c] - m);
        s = exact_tree64(y, j->cols);
        for (size_t c = 0; c < j->cols; c++)
            y[c] = y[c] / s;
    }
    j->want = want;
    j->what = "softmax";
    run_everywhere(softmax, j, j->rows, prepare, check);
    if (!special) { /* the sum's roundings, those of exp, the division */
        ref_softmax[0](j, 0, j->rows);
        assert_near_floats("softmax reference", j->y, want, j->count, 1e-4);
    }
    /* derivative at y = want */
    j->x = want;
    want = floats(j->count);
    for (size_t r = 0; r < j->rows; r++) {
        float *terms = floats(j->cols), s;

        for (size_t c = 0; c < j->cols; c++)
            terms[c] = j->g[r * j->cols + c] * j->x[r * j->cols + c];
        s = exact_tree64(terms, j->cols);
        for (size_t c = 0; c < j->cols; c++)
            want[r * j->cols + c] = j->x[r * j->cols + c] * (j->g[r * j->cols + c] - s);
        free(terms);
    }
    j->want = want;
    j->what = "softmax_vjp";
    run_everywhere(softmax_vjp, j, j->rows, prepare, check);
    if (!special) {
        ref_softmax_vjp[0](j, 0, j->rows);
        assert_near_floats("softmax_vjp reference", j->y, want, j->count, 1e-4);
    }
    free(want);
}

static void softmaxes(void **state)
{
    (void)state;
    each(softmax_case);
}

static void log_softmax_case(struct job *j, float *want, float *want_m, float *want_s, int special)
{
    float *terms = floats(j->cols);

    (void)want_m;
    (void)want_s;
    for (size_t r = 0; r < j->rows; r++) {
        const float *x = j->x + r * j->cols, m = row_max(x, j->cols);
        float s;

        for (size_t c = 0; c < j->cols; c++)
            terms[c] = tlm_exp(x[c] - m);
        s = tlm_log(exact_tree64(terms, j->cols));
        for (size_t c = 0; c < j->cols; c++)
            want[r * j->cols + c] = (x[c] - m) - s;
    }
    j->want = want;
    j->what = "log_softmax";
    run_everywhere(log_softmax, j, j->rows, prepare, check);
    if (!special) {
        ref_log_softmax[0](j, 0, j->rows);
        assert_near_floats("log_softmax reference", j->y, want, j->count, 1e-4);
    }
    j->x = want;
    want = floats(j->count);
    for (size_t r = 0; r < j->rows; r++) {
        const float s = exact_tree64(j->g + r * j->cols, j->cols);

        for (size_t c = r * j->cols; c < (r + 1) * j->cols; c++)
            want[c] = fmaf(-tlm_exp(j->x[c]), s, j->g[c]);
    }
    j->want = want;
    j->what = "log_softmax_vjp";
    run_everywhere(log_softmax_vjp, j, j->rows, prepare, check);
    if (!special) {
        ref_log_softmax_vjp[0](j, 0, j->rows);
        assert_near_floats("log_softmax_vjp reference", j->y, want, j->count, 1e-4);
    }
    free(want);
    free(terms);
}

static void log_softmaxes(void **state)
{
    (void)state;
    each(log_softmax_case);
}

/* [2, 3] rows of 70; the mask repeats along the first axis, or along the row. */
static void masks(void **state)
{
    enum { ROWS = 6, COLS = 70 };
    float x[ROWS * COLS], y[ROWS * COLS], want[ROWS * COLS];
    uint8_t mask[3 * COLS];
    struct job j = { .x = x,
                     .y = y,
                     .mask = mask,
                     .rows = ROWS,
                     .cols = COLS,
                     .row_dims = { 2, 3 },
                     .count = ROWS * COLS,
                     .what = "softmax with mask",
                     .want = want };

    (void)state;
    fill_uniform(x, ROWS * COLS, 41, 5.0f);
    for (size_t i = 0; i < 3 * COLS; i++)
        mask[i] = (uint8_t)(i * 2654435761u % 7 > 2) * 3; /* any byte but 0 is true */
    memset(mask + COLS, 0, COLS);                         /* a row where all is blocked */
    x[0] = NAN;
    mask[0] = 0;
    for (int along = 0; along < 2; along++) {
        j.mask_strides[0] = 0;
        j.mask_strides[1] = along ? 1 : COLS;
        j.mask_step = along ? 0 : 1;
        for (size_t r = 0; r < ROWS; r++) {
            const uint8_t *open = mask + r % 3 * j.mask_strides[1];
            float m = -INFINITY, terms[COLS], s;

            for (size_t c = 0; c < COLS; c++)
                if (open[c * j.mask_step])
                    m = tlmr_max(m, x[r * COLS + c]);
            for (size_t c = 0; c < COLS; c++)
                terms[c] = open[c * j.mask_step] ? tlm_exp(x[r * COLS + c] - m) : 0.0f;
            s = exact_tree64(terms, COLS);
            for (size_t c = 0; c < COLS; c++)
                want[r * COLS + c] = open[c * j.mask_step] ? terms[c] / s : 0.0f;
        }
        run_everywhere(masked, &j, ROWS, prepare, check);
        for (size_t c = 0; c < COLS && !along; c++)
            assert_int_equal(float_bits(y[COLS + c]), 0); /* blocked: +0 */
        ref_masked[0](&j, 0, ROWS);
        assert_near_floats("mask reference", y, want, ROWS * COLS, 1e-5);
    }
}

/* ---- layer_norm */
static void layer_norm_case(struct job *j, float *want, float *want_m, float *want_s, int special)
{
    const float n = (float)j->cols;
    float *terms = floats(j->cols), *others = floats(j->cols);

    for (size_t r = 0; r < j->rows; r++) {
        const float *x = j->x + r * j->cols;
        const float mean = exact_tree64(x, j->cols) / n;

        for (size_t c = 0; c < j->cols; c++) {
            const float d = x[c] - mean;

            terms[c] = d * d;
        }
        want_m[r] = mean;
        want_s[r] = 1.0f / sqrtf(exact_tree64(terms, j->cols) / n + 1e-5f);
        for (size_t c = 0; c < j->cols; c++)
            want[r * j->cols + c] = fmaf((x[c] - mean) * want_s[r], j->w[c], j->b[c]);
    }
    j->want = want;
    j->want_m = want_m;
    j->want_s = want_s;
    j->count_ms = j->rows;
    j->what = "layer_norm";
    run_everywhere(layer_norm, j, j->rows, prepare, check);
    if (!special) { /* rows of one element divide noise by noise */
        ref_layer_norm[0](j, 0, j->rows);
        assert_near_floats("layer_norm reference", j->y, want, j->count, 1e-4);
    }
    memcpy(j->m, want_m, j->rows * sizeof *j->m);
    memcpy(j->s, want_s, j->rows * sizeof *j->s);
    j->want_m = NULL;
    for (size_t r = 0; r < j->rows; r++) {
        const float *x = j->x + r * j->cols, *g = j->g + r * j->cols;
        float a, b;

        for (size_t c = 0; c < j->cols; c++) {
            terms[c] = g[c] * j->w[c];
            others[c] = terms[c] * ((x[c] - want_m[r]) * want_s[r]);
        }
        a = exact_tree64(terms, j->cols) / n;
        b = exact_tree64(others, j->cols) / n;
        for (size_t c = 0; c < j->cols; c++)
            want[r * j->cols + c] =
                want_s[r] * fmaf(-((x[c] - want_m[r]) * want_s[r]), b, terms[c] - a);
    }
    j->what = "layer_norm_vjp";
    run_everywhere(layer_norm_vjp, j, j->rows, prepare, check);
    if (!special) {
        ref_layer_norm_vjp[0](j, 0, j->rows);
        assert_near_floats("layer_norm_vjp reference", j->y, want, j->count, 2e-3);
    }
    free(terms);
    free(others);
}

static void layer_norms(void **state)
{
    (void)state;
    each(layer_norm_case);
}

static void weight_case(struct job *j, float *want, float *want_m, float *want_s, int special)
{
    float *terms = floats(j->rows), *gs = floats(j->rows), *mean = floats(j->rows + 1);
    float *rstd = floats(j->rows + 1);

    (void)want;
    fill_uniform(mean, j->rows, 51, 0.1f);
    fill_uniform(rstd, j->rows, 52, 2.0f);
    for (size_t c = 0; c < j->cols; c++) {
        for (size_t r = 0; r < j->rows; r++) {
            gs[r] = j->g[r * j->cols + c];
            terms[r] = gs[r] * ((j->x[r * j->cols + c] - mean[r]) * rstd[r]);
        }
        want_m[c] = exact_tree64(terms, j->rows);
        want_s[c] = exact_tree64(gs, j->rows);
    }
    j->w = mean;
    j->b = rstd;
    j->count = 0;
    j->count_ms = j->cols;
    j->want_m = want_m;
    j->want_s = want_s;
    j->what = "layer_norm_vjp_weight";
    run_everywhere(weight, j, TLMK_COLUMN_ITEMS(j->cols), prepare, check);
    if (!special) {
        ref_weight[0](j, 0, TLMK_COLUMN_ITEMS(j->cols));
        assert_near_floats("layer_norm_vjp_weight reference", j->m, want_m, j->cols, 1e-5);
    }
    free(terms);
    free(gs);
    free(mean);
    free(rstd);
}

static void layer_norm_weights(void **state)
{
    static const size_t tall[][2] = { { 300, 5 }, { 64, 16 }, { 65, 33 }, { 4100, 17 } };

    (void)state;
    each(weight_case);
    for (size_t i = 0; i < COUNT(tall); i++) {
        const size_t n = tall[i][0] * tall[i][1];
        float *x = floats(n), *g = floats(n), *m = floats(tall[i][1]), *s = floats(tall[i][1]);
        float *want_m = floats(tall[i][1]), *want_s = floats(tall[i][1]);
        struct job j = { .x = x, .g = g, .m = m, .s = s, .rows = tall[i][0], .cols = tall[i][1] };

        fill_uniform(x, n, 53, 1.0f);
        fill_uniform(g, n, 54, 1.0f);
        weight_case(&j, NULL, want_m, want_s, 1);
        free(x);
        free(g);
        free(m);
        free(s);
        free(want_m);
        free(want_s);
    }
}

/* ---- losses */
static void cross_entropy_case(struct job *j, float *want, float *want_m, float *want_s,
                               int special)
{
    float *terms = floats(j->cols);

    if (j->cols == 0) {
        free(terms);
        return; /* no class fits: refused before the call */
    }
    for (size_t r = 0; r < j->rows; r++) {
        const float *x = j->x + r * j->cols, m = row_max(x, j->cols);

        for (size_t c = 0; c < j->cols; c++)
            terms[c] = tlm_exp(x[c] - m);
        want_m[r] = m;
        want_s[r] = exact_tree64(terms, j->cols);
        want[r] = tlm_log(want_s[r]) - (x[j->cls[r]] - m);
    }
    j->want = want;
    j->want_m = want_m;
    j->want_s = want_s;
    j->count = j->count_ms = j->rows;
    j->what = "cross_entropy";
    run_everywhere(cross_entropy, j, j->rows, prepare, check);
    if (!special) {
        ref_cross_entropy[0](j, 0, j->rows);
        assert_near_floats("cross_entropy reference", j->y, want, j->rows, 1e-4);
    }
    memcpy(j->m, want_m, j->rows * sizeof *j->m);
    memcpy(j->s, want_s, j->rows * sizeof *j->s);
    j->want_m = NULL;
    j->count = j->rows * j->cols;
    for (size_t r = 0; r < j->rows; r++)
        for (size_t c = 0; c < j->cols; c++) {
            float p = tlm_exp(j->x[r * j->cols + c] - want_m[r]) / want_s[r];

            if (c == (size_t)j->cls[r])
                p = p - 1.0f;
            want[r * j->cols + c] = p * j->g[r];
        }
    j->what = "cross_entropy_vjp";
    run_everywhere(cross_entropy_vjp, j, j->rows, prepare, check);
    if (!special) {
        ref_cross_entropy_vjp[0](j, 0, j->rows);
        assert_near_floats("cross_entropy_vjp reference", j->y, want, j->count, 1e-4);
    }
    free(terms);
}

static void cross_entropies(void **state)
{
    (void)state;
    each(cross_entropy_case);
}

static void mse(void **state)
{
    static const size_t sizes[] = { 0, 1, 5, 63, 64, 65, 4097, 9000 };

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const size_t n = sizes[i];
        float *a = floats(n), *b = floats(n), *terms = floats(n), *y = floats(n + 1), loss,
              seed = 0.5f;
        struct job j = {
            .x = a, .w = b, .g = &seed, .y = y, .count = n, .want = terms, .what = "mse_loss_vjp"
        };

        fill_uniform(a, n, 61, 1.0f);
        fill_uniform(b, n, 62, 1.0f);
        for (size_t k = 0; k < n; k++) {
            const float d = a[k] - b[k];

            terms[k] = d * d;
        }
        tlmk_f32_mse_loss__cpu_tree64(TLM_CPU_BASE, &loss, a, b, n);
        assert_true(same_bits(loss, exact_tree64(terms, n) / (float)n)); /* empty: NaN */
        for (size_t k = 0; k < n; k++) {
            const float d = a[k] - b[k];

            terms[k] = 2.0f / (float)n * d;
            terms[k] = terms[k] * seed;
        }
        run_everywhere(mse_loss_vjp, &j, n, prepare, check);
        run_everywhere(ref_mse_loss_vjp, &j, n, prepare, check); /* one arithmetic, equal bits */
        tlmk_f32_mse_loss__ref_left(TLM_CPU_BASE, y, a, b, n);
        assert_true(n == 0 || fabs((double)loss - (double)y[0]) < 1e-4);
        free(a);
        free(b);
        free(terms);
        free(y);
    }
}

/* ---- random */
static void draws(void **state)
{
    enum { N = 1000 };
    float y[N], want[N];
    struct job j = { .y = y, .want = want, .count = N, .key = 12345, .what = "draws" };
    double mean = 0.0;

    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        want[i] = (float)((uint32_t)tlm_splitmix64(12345 + i) >> 8) / 16777216.0f;
        mean += want[i] / N;
        assert_true(want[i] < 1.0f);
    }
    assert_true(mean > 0.45 && mean < 0.55);
    run_everywhere(rand_uniform, &j, N, prepare, check);
    run_everywhere(ref_rand_uniform, &j, N, prepare, check);
    for (int all = 0; all < 3; all++) {
        j.threshold = all == 0 ? 0 : all == 1 ? UINT64_C(0x100000000) : UINT64_C(0x40000000);
        for (uint32_t i = 0; i < N; i++)
            want[i] = (uint32_t)tlm_splitmix64(12345 + i) < j.threshold ? 1.0f : 0.0f;
        run_everywhere(bernoulli, &j, N, prepare, check);
        run_everywhere(ref_bernoulli, &j, N, prepare, check);
    }
    /* the key of a draw: seed, run, site */
    assert_true(tlm_random_key(1, 2, 3) ==
                tlm_splitmix64(tlm_splitmix64(tlm_splitmix64(1) + 2) + 3));
    assert_true(tlm_splitmix64(0) == UINT64_C(0xe220a8397b1dcdaf));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmaxes),
        cmocka_unit_test(log_softmaxes),
        cmocka_unit_test(masks),
        cmocka_unit_test(layer_norms),
        cmocka_unit_test(layer_norm_weights),
        cmocka_unit_test(cross_entropies),
        cmocka_unit_test(mse),
        cmocka_unit_test(draws),
    };

    report_levels();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
