/* The program shell over a model on a device of its own: the hand-written model of tiny_program.h
   lives twice, and nothing travels between the copies but inputs at a run, results at `wait` and
   parameters at `params`.  A shell that reads without waiting, or writes parameters that are not
   its own, prints something else than on the CPU. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tiny_program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `host` comes first: the tables of tiny_program.h find inputs and outputs there. */
typedef struct far {
    tiny host, device;
    bool host_newer, device_newer;
    tlm_status status; /* of the runs since the last wait */
    bool lost;         /* the device failed, for good */
} far;

static struct {
    int waits, params, destroyed, no_graph, batches, steps;
    tlm_status create, lose_at_step; /* what fails; TLM_OK: nothing */
    uint64_t step_to_lose;
} far_all;

static char out_text[1 << 16], err_text[1 << 16];

static tlm_status far_create(void *model, const tlm_options *options)
{
    far *m = model;
    tlm_status status;

    if (far_all.create != TLM_OK) {
        strcpy(options->error_text, "CUDA was requested, but this is a test");
        return far_all.create;
    }
    status = tiny_create(&m->host, options);
    m->device = m->host;
    m->host_newer = true;
    far_all.no_graph = (int)options->no_graph;
    return status;
}

/* What both copies have as parameters. */
static void far_copy_params(tiny *to, const tiny *from)
{
    memcpy(to->w, from->w, sizeof to->w);
    memcpy(to->m, from->m, sizeof to->m);
    memcpy(to->v, from->v, sizeof to->v);
    to->b = from->b;
    to->passes = from->passes;
    to->mb = from->mb;
    to->vb = from->vb;
}

static tlm_status far_run(void *model, tlm_status (*run)(void *model), bool changes)
{
    far *m = model;
    tlm_status status;

    if (m->lost)
        return TLM_ERR_DEVICE;
    if (m->host_newer)
        far_copy_params(&m->device, &m->host);
    m->host_newer = false;
    m->device_newer = m->device_newer || changes;
    memcpy(m->device.x, m->host.x, sizeof m->host.x);
    memcpy(m->device.y, m->host.y, sizeof m->host.y);
    memcpy(m->device.ids, m->host.ids, sizeof m->host.ids);
    memcpy(m->device.scalars, m->host.scalars, sizeof m->host.scalars);
    m->device.seed = m->host.seed;
    status = run(&m->device);
    m->status = m->status == TLM_OK ? status : m->status;
    return TLM_OK;
}

static tlm_status far_wait(void *model)
{
    far *m = model;
    const tlm_status status = m->status;

    far_all.waits++;
    if (m->lost)
        return TLM_ERR_DEVICE;
    m->status = TLM_OK;
    memcpy(m->host.error, m->device.error, sizeof m->host.error);
    if (status != TLM_OK)
        return status;
    memcpy(m->host.pred, m->device.pred, sizeof m->host.pred);
    memcpy(m->host.row_losses, m->device.row_losses, sizeof m->host.row_losses);
    memcpy(m->host.close, m->device.close, sizeof m->host.close);
    memcpy(m->host.logits, m->device.logits, sizeof m->host.logits);
    m->host.loss = m->device.loss;
    return TLM_OK;
}

static const tlm_param *far_params(void *model, size_t *count)
{
    far *m = model;

    far_all.params++;
    far_wait(model);
    if (m->device_newer)
        far_copy_params(&m->host, &m->device);
    memcpy(m->host.gw, m->device.gw, sizeof m->host.gw);
    m->host.gb = m->device.gb;
    m->device_newer = false;
    m->host_newer = true;
    return tiny_params(&m->host, count);
}

static void far_destroy(void *model)
{
    (void)model;
    far_all.destroyed++;
}

static void far_report(char *text)
{
    strcpy(text, "cuda: deterministic_reductions=off\ncuda: live=1MiB\n");
}

#define FAR_RUN(name, changes)                              \
    static tlm_status far_##name(void *model)               \
    {                                                       \
        return far_run(model, tiny_##name, (changes) != 0); \
    }
FAR_RUN(infer, 0)
FAR_RUN(eval, 0)
FAR_RUN(forward, 1) /* counts its passes in a saved state */
FAR_RUN(backward, 0)
FAR_RUN(accumulate, 0)
FAR_RUN(next, 0)

static tlm_status far_step(void *model)
{
    far *m = model;

    far_all.steps++;
    if (far_all.lose_at_step != TLM_OK && m->host.step == far_all.step_to_lose) {
        m->lost = true;
        strcpy(m->host.error, "tiny.tlm:3:1: cudaErrorLaunchFailure");
        return TLM_ERR_DEVICE;
    }
    return far_run(model, tiny_step, true);
}

static struct {
    tlm_form train, eval, infer, next;
    tlm_train clause;
    tlm_generate generate;
} far_tables;

static tlm_status far_batch(void *model)
{
    tlm_status status = far_forward(model);

    far_all.batches++;
    if (status == TLM_OK)
        status = far_backward(model);
    if (status != TLM_OK)
        return status;
    return far_tables.clause.accumulate_step ? far_accumulate(model) : far_step(model);
}

static tlm_program far_program(void)
{
    tlm_program program;

    memset(&far_all, 0, sizeof far_all);
    far_tables.train = tiny_train_form;
    far_tables.train.run = far_forward;
    far_tables.eval = tiny_eval_form;
    far_tables.eval.run = far_eval;
    far_tables.infer = tiny_infer_forms[0];
    far_tables.infer.run = far_infer;
    far_tables.next = tiny_next_form;
    far_tables.next.run = far_next;
    far_tables.generate = tiny_generate;
    far_tables.generate.form = &far_tables.next;
    far_tables.clause = tiny_train;
    far_tables.clause.form = &far_tables.train;
    far_tables.clause.eval = &far_tables.eval;
    far_tables.clause.forward = far_forward;
    far_tables.clause.backward = far_backward;
    far_tables.clause.step = far_step;
    far_tables.clause.train_batch = far_batch;
    program = tiny_program(&far_tables.clause);
    program.model_bytes = sizeof(far);
    program.create = far_create;
    program.params = far_params;
    program.infer = &far_tables.infer;
    program.generate = &far_tables.generate;
    program.wait = far_wait;
    program.destroy = far_destroy;
    program.device_report = far_report;
    return program;
}

static void read_text(const char *path, char *text, size_t capacity)
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    text[fread(text, 1, capacity - 1, file)] = 0;
    fclose(file);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static int run_program(const tlm_program *program, const char *line)
{
    char words[1024], *argv[64] = { words };
    const int kept_out = dup(1), kept_err = dup(2);
    int argc = 0, code;

    snprintf(words, sizeof words, "tiny %s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    fflush(stdout);
    fflush(stderr);
    assert_non_null(freopen("out.txt", "wb", stdout));
    assert_non_null(freopen("err.txt", "wb", stderr));
    code = tlm_shell_main(program, argc, argv);
    fflush(stdout);
    fflush(stderr);
    dup2(kept_out, 1);
    dup2(kept_err, 2);
    close(kept_out);
    close(kept_err);
    read_text("out.txt", out_text, sizeof out_text);
    read_text("err.txt", err_text, sizeof err_text);
    return code;
}

static int run_far(const char *line)
{
    const tlm_program program = far_program();

    return run_program(&program, line);
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text);
}

/* The same words on the CPU and on the device: the same text, and everything given back. */
static void same_as_cpu(const char *line)
{
    const tlm_program cpu = tiny_program(&tiny_train);
    char wanted[sizeof out_text];
    const int code = run_program(&cpu, line);

    memcpy(wanted, out_text, sizeof wanted);
    assert_int_equal(run_far(line), code);
    if (strcmp(out_text, wanted) != 0)
        fail_msg("'%s' on the device:\n%s\non the CPU:\n%s", line, out_text, wanted);
    assert_int_equal(far_all.destroyed, 1);
}

static int set_up(void **state)
{
    static char folder[] = "/tmp/tlm-device-XXXXXX";

    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return -1;
    write_text("tiny.csv", "a,b,y\n1,0,1\n0,1,2\n1,1,3\n0.5,-1,-1.5\n-1,0.25,-0.5\n-1,-1,-3\n"
                           "0.25,0.75,1.75\n0.5,0.5,1.5\n0.1,0.2,0.5\n");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = { "tiny.csv", "bad.csv", "out.txt", "err.txt",
                                         "a.safetensors" };
    char folder[256];

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        remove(files[i]);
    return getcwd(folder, sizeof folder) && chdir("/") == 0 ? rmdir(folder) : -1;
}

static void test_training(void **state)
{
    (void)state;
    same_as_cpu("--steps 25 --seed 3");
    assert_int_equal(far_all.batches, 25);
    assert_int_equal(run_far("--steps 25 --seed 3 --profile"), 0); /* phases timed one by one */
    assert_int_equal(far_all.batches, 0);
    same_as_cpu("--steps 7 --save a.safetensors");
    same_as_cpu("--steps 12 --resume a.safetensors");
    same_as_cpu("--generate --prompt ab --tokens 5");
}

/* Batches of three a step: the step is a call of its own. */
static void test_accumulation(void **state)
{
    tlm_train clause = tiny_train;
    tlm_program cpu, device = far_program();
    char wanted[sizeof out_text];

    (void)state;
    clause.accumulate = far_tables.clause.accumulate = 3;
    clause.accumulate_step = tiny_accumulate;
    far_tables.clause.accumulate_step = far_accumulate;
    cpu = tiny_program(&clause);
    assert_int_equal(run_program(&cpu, "--steps 7 --seed 3"), 0);
    memcpy(wanted, out_text, sizeof wanted);
    assert_int_equal(run_program(&device, "--steps 7 --seed 3"), 0);
    assert_string_equal(out_text, wanted);
    assert_int_equal(far_all.batches, 21);
    assert_int_equal(far_all.steps, 7);
}

/* Writes single weights and reads the losses of both sides. */
static void test_gradient_check(void **state)
{
    (void)state;
    same_as_cpu("--check-gradients");
    expect(out_text, "worst relative error");
}

/* A step whose loss nobody sees is not waited for. */
static void test_only_printed_losses_wait(void **state)
{
    int few;

    (void)state;
    assert_int_equal(run_far("--steps 21"), 0); /* steps 0, 10 and 20 */
    few = far_all.waits;
    assert_int_equal(run_far("--steps 39"), 0); /* 30 and 38 as well */
    assert_int_equal(far_all.waits - few, 2);
}

static void test_no_graph(void **state)
{
    (void)state;
    assert_int_equal(run_far("--steps 2 --no-graph"), 0);
    assert_int_equal(far_all.no_graph, 1);
    assert_string_equal(err_text, "");
    assert_int_equal(run_far("--steps 2"), 0);
    assert_int_equal(far_all.no_graph, 0);
}

static void test_reports(void **state)
{
    (void)state;
    assert_int_equal(run_far("--steps 1 --show-backend"), 0);
    expect(out_text, "matmul: by_hand\ncuda: deterministic_reductions=off\n");
    assert_null(strstr(out_text, "cuda: live"));
    assert_int_equal(run_far("--steps 1 --show-memory"), 0);
    expect(out_text, "loss1=");
    expect(strstr(out_text, "loss1="),
           "\ncuda: deterministic_reductions=off\ncuda: live=1MiB\ntiny: ok\n");
}

static void test_refused_device(void **state)
{
    tlm_program program = far_program();

    (void)state;
    far_all.create = TLM_ERR_DEVICE;
    assert_int_equal(run_program(&program, "--steps 1"), 3);
    assert_string_equal(err_text, "tiny: error: CUDA was requested, but this is a test\n");
    assert_int_equal(far_all.destroyed, 0);
    program = far_program();
    far_all.lose_at_step = TLM_ERR_DEVICE;
    far_all.step_to_lose = 5;
    assert_int_equal(run_program(&program, "--steps 10"), 3);
    expect(err_text, "the device is not available: tiny.tlm:3:1: cudaErrorLaunchFailure");
    assert_int_equal(far_all.destroyed, 1);
}

/* An index out of range shows when its step is waited for, as the CPU's message. */
static void test_late_fault(void **state)
{
    (void)state;
    write_text("bad.csv", "a,b,y\n1,0,1\n0,1,2\n1,1,3\n0.5,-1,1001\n");
    assert_int_equal(run_far("--steps 3 --data bad.csv"), 1);
    expect(err_text, "index 1001 at position 0 of tensor 'y' is out of range");
    assert_int_equal(far_all.destroyed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training),       cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_gradient_check), cmocka_unit_test(test_only_printed_losses_wait),
        cmocka_unit_test(test_no_graph),       cmocka_unit_test(test_reports),
        cmocka_unit_test(test_refused_device), cmocka_unit_test(test_late_fault),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
