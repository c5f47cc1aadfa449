/* Optimizer updates: the bits of the straight-line programs for every level and cut, with and
   without clipping, decay, momentum; the reference kernels near them; and the ten steps of each in
   binary64, which says that the formulas are PyTorch's. */
#include "kernel_test.h"

#include "tlmk_cpu.h"
#include "tlmk_ref.h"

enum { N = 101 };

/* p, its gradient, and up to three tensors of state */
struct job {
    float p[N], g[N], s[3][N];
    float start_p[N], start_s[3][N], want_p[N], want_s[3][N];
    const float *gscale;
    int with_a, with_b; /* optional states */
    float wd, momentum;
    int nesterov;
};

static const float lr = 0.01f, step_size = 0.02f, root = 0.7f, keep = 0.999f, undamped = 0.9f;
static const float scale = 0.37f;

#define STEP(name, kernel, ...)                 \
    TLM_STEP(name, struct job)                  \
    {                                           \
        kernel(level, __VA_ARGS__, begin, end); \
    }                                           \
    TLM_LEVELS(name, struct job)
#define BOTH(name, ...)                                         \
    STEP(name, tlmk_f32_##name##_update__cpu_loop, __VA_ARGS__) \
    STEP(ref_##name, tlmk_f32_##name##_update__ref_loop, __VA_ARGS__)

BOTH(sgd, m->p, m->g, m->with_a ? m->s[0] : NULL, &lr, &undamped, m->gscale, m->momentum,
     m->nesterov, m->wd)
BOTH(adam, m->p, m->g, m->s[0], m->s[1], &step_size, &root, m->gscale, 0.9f, 0.1f, 0.999f, 0.001f,
     1e-8f, m->wd)
BOTH(adamw, m->p, m->g, m->s[0], m->s[1], &step_size, &root, &keep, m->gscale, 0.9f, 0.1f, 0.999f,
     0.001f, 1e-8f)
BOTH(rmsprop, m->p, m->g, m->s[0], &lr, m->with_a ? m->s[1] : NULL, m->with_b ? m->s[2] : NULL,
     m->gscale, 0.99f, 0.01f, 1e-8f, m->momentum, m->wd)
BOTH(adagrad, m->p, m->g, m->s[0], &lr, m->gscale, 1e-10f, m->wd)
BOTH(adadelta, m->p, m->g, m->s[0], m->s[1], &lr, m->gscale, 0.9f, 0.1f, 1e-6f, m->wd)

/* ---- one element, by the written programs; T is float with fmaf or double without rounding */
#define PROGRAMS(T, suffix, FMA, SQRT)                                              \
    static T effective_##suffix(const struct job *j, T g, T p)                      \
    {                                                                               \
        if (j->gscale)                                                              \
            g = g * (T)*j->gscale;                                                  \
        return j->wd != 0.0f ? FMA((T)j->wd, p, g) : g;                             \
    }                                                                               \
    static T sgd_##suffix(const struct job *j, T p, T g, T *s)                      \
    {                                                                               \
        T d = effective_##suffix(j, g, p);                                          \
                                                                                    \
        if (j->with_a) {                                                            \
            s[0] = FMA((T)undamped, d, (T)j->momentum * s[0]);                      \
            d = j->nesterov ? FMA((T)j->momentum, s[0], d) : s[0];                  \
        }                                                                           \
        return FMA(-(T)lr, d, p);                                                   \
    }                                                                               \
    static T moments_##suffix(T d, T p, T *s)                                       \
    {                                                                               \
        s[0] = FMA((T)0.1f, d, (T)0.9f * s[0]);                                     \
        s[1] = FMA((T)0.001f, d * d, (T)0.999f * s[1]);                             \
        return FMA(-(T)step_size, s[0] / (SQRT(s[1]) / (T)root + (T)1e-8f), p);     \
    }                                                                               \
    static T adam_##suffix(const struct job *j, T p, T g, T *s)                     \
    {                                                                               \
        return moments_##suffix(effective_##suffix(j, g, p), p, s);                 \
    }                                                                               \
    static T adamw_##suffix(const struct job *j, T p, T g, T *s)                    \
    {                                                                               \
        return moments_##suffix(j->gscale ? g * (T)*j->gscale : g, p * (T)keep, s); \
    }                                                                               \
    static T rmsprop_##suffix(const struct job *j, T p, T g, T *s)                  \
    {                                                                               \
        T d = effective_##suffix(j, g, p), spread;                                  \
                                                                                    \
        spread = s[0] = FMA((T)0.01f, d * d, (T)0.99f * s[0]);                      \
        if (j->with_a) {                                                            \
            s[1] = FMA((T)0.01f, d, (T)0.99f * s[1]);                               \
            spread = FMA(-s[1], s[1], spread);                                      \
        }                                                                           \
        d = d / (SQRT(spread) + (T)1e-8f);                                          \
        if (j->with_b)                                                              \
            d = s[2] = FMA((T)j->momentum, s[2], d);                                \
        return FMA(-(T)lr, d, p);                                                   \
    }                                                                               \
    static T adagrad_##suffix(const struct job *j, T p, T g, T *s)                  \
    {                                                                               \
        const T d = effective_##suffix(j, g, p);                                    \
                                                                                    \
        s[0] = FMA(d, d, s[0]);                                                     \
        return FMA(-(T)lr, d / (SQRT(s[0]) + (T)1e-10f), p);                        \
    }                                                                               \
    static T adadelta_##suffix(const struct job *j, T p, T g, T *s)                 \
    {                                                                               \
        const T d = effective_##suffix(j, g, p);                                    \
        T delta;                                                                    \
                                                                                    \
        s[0] = FMA((T)0.1f, d * d, (T)0.9f * s[0]);                                 \
        delta = SQRT(s[1] + (T)1e-6f) / SQRT(s[0] + (T)1e-6f) * d;                  \
        s[1] = FMA((T)0.1f, delta * delta, (T)0.9f * s[1]);                         \
        return FMA(-(T)lr, delta, p);                                               \
    }
PROGRAMS(float, exact, fmaf, sqrtf)
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
PROGRAMS(double, wide, MULTIPLY_ADD, sqrt)

static void prepare(void *job)
{
    struct job *j = job;

    memcpy(j->p, j->start_p, sizeof j->p);
    memcpy(j->s, j->start_s, sizeof j->s);
}

static const char *what;

static void check(const void *job)
{
    const struct job *j = job;

    assert_same_floats(what, j->p, j->want_p, N);
    for (int i = 0; i < 3; i++)
        assert_same_floats(what, j->s[i], j->want_s[i], N);
}

static void run(struct job *j, tlm_range_fn *const *fast, tlm_range_fn *const *ref,
                float (*exact)(const struct job *, float, float, float *),
                double (*wide)(const struct job *, double, double, double *))
{
    for (int i = 0; i < N; i++) {
        float s[3] = { j->start_s[0][i], j->start_s[1][i], j->start_s[2][i] };

        j->want_p[i] = exact(j, j->start_p[i], j->g[i], s);
        for (int k = 0; k < 3; k++)
            j->want_s[k][i] = s[k];
    }
    run_everywhere(fast, j, N, prepare, check);
    /* two steps of fast, of reference and of binary64 lie within some roundings of p and the
       step */
    for (int kind = 0; kind < 2; kind++) {
        prepare(j);
        for (int step = 0; step < 2; step++)
            (kind == 0 ? fast : ref)[0](j, 0, N);
        for (int i = 0; i < N; i++) {
            double s[3] = { j->start_s[0][i], j->start_s[1][i], j->start_s[2][i] };
            double p = j->start_p[i];

            for (int step = 0; step < 2; step++)
                p = wide(j, p, j->g[i], s);
            assert_true(fabs(p - (double)j->p[i]) < 1e-5);
        }
    }
}

static void all(void **state)
{
    static struct job j;

    (void)state;
    fill_uniform(j.start_p, N, 81, 1.0f);
    fill_uniform(j.g, N, 82, 2.0f);
    for (int k = 0; k < 3; k++)
        fill_uniform(j.start_s[k], N, 83 + (uint64_t)k, 1.0f);
    for (int i = 0; i < N; i++) { /* mean squares, well above the squared means */
        j.start_s[0][i] = fabsf(j.start_s[0][i]) + 1.0f;
        j.start_s[1][i] = fabsf(j.start_s[1][i]) * 0.5f;
    }
    for (int options = 0; options < 32; options++) {
        j.gscale = options & 1 ? &scale : NULL;
        j.wd = options & 2 ? 0.1f : 0.0f;
        j.with_a = options >> 2 & 1;
        j.with_b = options >> 3 & 1;
        j.nesterov = options >> 4 & 1;
        j.momentum = 0.9f;
        what = "sgd";
        run(&j, sgd, ref_sgd, sgd_exact, sgd_wide);
        what = "adam";
        run(&j, adam, ref_adam, adam_exact, adam_wide);
        what = "adamw";
        run(&j, adamw, ref_adamw, adamw_exact, adamw_wide);
        what = "rmsprop";
        run(&j, rmsprop, ref_rmsprop, rmsprop_exact, rmsprop_wide);
        what = "adagrad";
        run(&j, adagrad, ref_adagrad, adagrad_exact, adagrad_wide);
        what = "adadelta";
        run(&j, adadelta, ref_adadelta, adadelta_exact, adadelta_wide);
    }
}

/* Without decay a gradient of -0 stays -0: nothing is added to it. */
static void no_decay(void **state)
{
    float p = 0.0f, g = -0.0f, m = -0.0f;

    (void)state;
    assert_int_equal(float_bits(tlmk_effective(g, p, 0, 1.0f, 0.0f)), 0x80000000u);
    tlmk_f32_accumulate__cpu_loop(TLM_CPU_BASE, &m, &g, 0, 1);
    assert_int_equal(float_bits(m), 0x80000000u);
    p = INFINITY; /* and an infinite parameter does not make it NaN */
    assert_int_equal(float_bits(tlmk_effective(1.0f, p, 0, 1.0f, 0.0f)), float_bits(1.0f));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all), cmocka_unit_test(no_decay) };

    report_levels();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
