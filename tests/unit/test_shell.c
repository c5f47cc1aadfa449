/* The program shell as a user sees it: a model written by hand is trained, saved, resumed, asked
   and checked through tlm_shell_main, in a folder of its own; what it prints and its exit status
   are compared. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tiny_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char out_text[1 << 16], err_text[1 << 16];

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

/* Runs the program with the words of `line`; its exit status, with the texts in out_text and
   err_text. */
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

static int run(const char *line)
{
    const tlm_program program = tiny_program(&tiny_train);

    return run_program(&program, line);
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text);
}

/* Exit status and a part of the message. */
static void refused(const char *line, int status, const char *part)
{
    const int code = run(line);

    if (code != status)
        fail_msg("'%s': exit %d, not %d\n%s", line, code, status, err_text);
    expect(err_text, part);
}

static int set_up(void **state)
{
    static char folder[] = "/tmp/tlm-shell-XXXXXX";

    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return -1;
    write_text("tiny.csv", "a,b,y\n1,0,1\n0,1,2\n1,1,3\n0.5,-1,-1.5\n-1,0.25,-0.5\n-1,-1,-3\n"
                           "0.25,0.75,1.75\n0.5,0.5,1.5\n0.1,0.2,0.5\n");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = {
        "tiny.csv",      "other.csv",     "out.txt",   "err.txt", "a.safetensors",
        "b.safetensors", "c.safetensors", "log.jsonl", "x.npy",   "pred.npy",
    };
    char folder[256];

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        remove(files[i]);
    return getcwd(folder, sizeof folder) && chdir("/") == 0 ? rmdir(folder) : -1;
}

static void test_report(void **state)
{
    (void)state;
    assert_int_equal(run("--steps 11 --show-backend"), 0);
    expect(out_text,
           "== tiny: training ==\nseed  = 0\nsteps = 11\ndevice = cpu (profile checked_cpu)\n"
           "matmul: by_hand\ndataset size = 9\nmean_loss(before) = ");
    expect(out_text,
           "\nclose(before) = 0.222222\npredictions(before)\n"
           "  here: x=(0.500000, -0.250000) target=2.000000 pred=[0.000000]\nstep 0: loss=");
    expect(out_text, "\nstep 10: loss=");
    expect(out_text, "\nmean_loss(after) = ");
    expect(out_text,
           "\npredictions(after)\n  here: x=(0.500000, -0.250000) target=2.000000 pred=[");
    expect(out_text, "\nsteps=11 loss0=");
    assert_string_equal(out_text + strlen(out_text) - strlen("\ntiny: ok\n"), "\ntiny: ok\n");
    assert_string_equal(err_text, "");
}

/* Without log_every about ten lines of a run are printed. */
static void test_default_log(void **state)
{
    tlm_train train = tiny_train;
    const tlm_program program = tiny_program(&train);
    int lines = 0;

    (void)state;
    train.log_every = 0;
    assert_int_equal(run_program(&program, "--steps 39"), 0);
    for (const char *at = out_text; (at = strstr(at, "\nstep ")); at++)
        lines++;
    assert_int_equal(lines, 10);
}

/* The mean over nine rows in batches of four counts the ragged last row, and only it. */
static void test_mean_of_ragged_rows(void **state)
{
    static const double rows[9][3] = {
        { 1, 0, 1 },          { 0, 1, 2 },        { 1, 1, 3 },
        { 0.5, -1, -1.5 },    { -1, 0.25, -0.5 }, { -1, -1, -3 },
        { 0.25, 0.75, 1.75 }, { 0.5, 0.5, 1.5 },  { 0.1, 0.2, 0.5 }
    };
    double sum = 0;
    char line[64];

    (void)state;
    for (int i = 0; i < 9; i++) {
        const double d = 0.25 * rows[i][0] + 0.5 * rows[i][1] - rows[i][2];

        sum += d * d;
    }
    snprintf(line, sizeof line, "\nmean_loss(before) = %.6f\n", sum / 9);
    assert_int_equal(run("--steps 0"), 0);
    expect(out_text, line);
    snprintf(line, sizeof line, "\nsteps=0 loss0=%.6f loss1=%.6f\n", sum / 9, sum / 9);
    expect(out_text, line);
}

/* A scalar loss leaves the ragged rows out, and that is said. */
static void test_scalar_loss_says_what_it_leaves_out(void **state)
{
    tlm_form eval = tiny_eval_form;
    tlm_train train = tiny_train;
    tlm_program program;

    (void)state;
    eval.losses = tiny_losses;
    eval.run = tiny_forward;
    train.eval = &eval;
    program = tiny_program(&train);
    assert_int_equal(run_program(&program, "--steps 0"), 0);
    expect(err_text, "'loss' is a scalar: the last 1 of 9 training rows");
    train.split = TLM_SPLIT_LAST;
    train.split_count = 3;
    assert_int_equal(run_program(&program, "--steps 0"), 1);
    expect(err_text, "3 validation rows do not fill the batch of 4");
}

static void same_files(const char *a, const char *b, int same)
{
    static char first[1 << 14], second[1 << 14];
    FILE *fa = fopen(a, "rb"), *fb = fopen(b, "rb");
    size_t na, nb;

    assert_non_null(fa);
    assert_non_null(fb);
    na = fread(first, 1, sizeof first, fa);
    nb = fread(second, 1, sizeof second, fb);
    fclose(fa);
    fclose(fb);
    assert_true(na > 0);
    assert_int_equal(na == nb && memcmp(first, second, na) == 0, same);
}

/* The optimizer's step, which must come after three batches. */
static tlm_status step_of_three(void *model)
{
    return ((tiny *)model)->micro == 3 ? tiny_step(model) : TLM_ERR_STATE;
}

/* 1..20 and 1..10, save, resume to 20: the same file bit for bit, across epochs, with shuffling and
   accumulation. */
static void test_resume(void **state)
{
    tlm_train train = tiny_train;
    tlm_program program;

    (void)state;
    train.shuffle = 1;
    train.accumulate = 3;
    train.accumulate_step = tiny_accumulate;
    train.step = step_of_three;
    program = tiny_program(&train);
    assert_int_equal(run_program(&program, "--seed 3 --steps 20 --save a.safetensors"), 0);
    assert_int_equal(run_program(&program, "--seed 3 --steps 10 --save b.safetensors"), 0);
    same_files("a.safetensors", "b.safetensors", 0);
    assert_int_equal(run_program(&program,
                                 "--resume b.safetensors --steps 20 --save c.safetensors"),
                     0);
    expect(out_text, "seed  = 3\nsteps = 20\nresumed after step 10\n");
    same_files("a.safetensors", "c.safetensors", 1);
    assert_int_equal(run_program(&program, "--resume b.safetensors --steps 5"), 0);
    expect(err_text, "the saved run has 10 steps: none of 5 is left");
    assert_int_equal(run_program(&program, "--resume b.safetensors --seed 4"), 2);
    expect(err_text, "the seed 3");
    train.shuffle = 0; /* the order is part of the run: another one gives other weights */
    assert_int_equal(run_program(&program, "--seed 3 --steps 20 --save b.safetensors"), 0);
    same_files("a.safetensors", "b.safetensors", 0);
}

/* save_every leaves the checkpoint of the last full interval when the run is cut short: here by
   data that the model refuses in its sixth batch. */
static void test_save_every(void **state)
{
    tlm_train train = tiny_train;
    const tlm_program program = tiny_program(&train);
    char text[1024];

    (void)state;
    train.save_every = 4;
    train.evaluate_train = 0;
    train.probe_count = 0;
    strcpy(text, "a,b,y\n");
    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,1,%d\n", i % 3, i % 5);
    strcat(text, "1,0,2000\n0,0,0\n0,0,0\n0,0,0\n");
    write_text("other.csv", text);
    remove("b.safetensors");
    assert_int_equal(run_program(&program, "--steps 8 --save b.safetensors --data other.csv"), 1);
    expect(err_text, "index 1001 at position 0");
    assert_int_equal(
        run_program(&program,
                    "--resume b.safetensors --steps 5 --data other.csv --save c.safetensors"),
        0);
    expect(out_text, "resumed after step 4\n");
    assert_int_equal(run_program(&program, "--steps 5 --data other.csv --save a.safetensors"), 0);
    same_files("a.safetensors", "c.safetensors", 1);
}

static void test_batch_of_nothing(void **state)
{
    tlm_train train = tiny_train;
    tlm_program program;

    (void)state;
    train.batch = 0;
    program = tiny_program(&train);
    assert_int_equal(run_program(&program, ""), 1);
    expect(err_text, "batches of 0 rows");
    assert_int_equal(run_program(&program, "--check-gradients"), 1);
    expect(err_text, "batches of 0 rows");
}

static void test_load(void **state)
{
    static const uint32_t missing[] = { 1 };
    static const char *const from[] = { "fc.*" }, *const to[] = { "passes*" };
    tlm_program program = tiny_program(&tiny_train);

    (void)state;
    assert_int_equal(run("--seed 5 --steps 3 --save a.safetensors"), 0);
    assert_int_equal(run("--seed 6 --steps 0 --load a.safetensors --save b.safetensors"), 0);
    assert_int_equal(run("--infer --load a.safetensors --save b.safetensors"), 2);
    refused("--steps 0 --load none.safetensors", 1, "none.safetensors: cannot be opened");
    refused("--steps 0 --resume tiny.csv", 1, "tiny.csv: is not a safetensors file");
    refused("--pretrained", 2, "--pretrained needs a file");
    refused("--load a --resume b", 2, "exclude each other");
    program.no_init = missing;
    program.no_init_count = 1;
    assert_int_equal(run_program(&program, "--steps 0"), 1);
    expect(err_text, "the parameter 'fc.bias' has no initialiser");
    assert_int_equal(run_program(&program, "--steps 0 --load a.safetensors"), 0);
    program.pretrained = "a.safetensors";
    assert_int_equal(run_program(&program, "--steps 0 --pretrained"), 0);
    program.mapping.only = from;
    program.mapping.only_count = 1;
    assert_int_equal(run_program(&program, "--steps 0 --pretrained"), 0);
    program.mapping.only = to;
    assert_int_equal(run_program(&program, "--steps 0 --pretrained a.safetensors"), 1);
    expect(err_text, "'fc.bias'");
}

static void test_flags(void **state)
{
    tlm_program program = tiny_program(NULL);

    (void)state;
    assert_int_equal(run("--help"), 0);
    expect(out_text, "usage: tiny [flags]\n");
    refused("--stepz 3", 2, "unknown flag '--stepz'");
    refused("--cpu avx512", 2, "this processor has no AVX-512");
    refused("--train extra", 2, "unexpected argument 'extra'");
    refused("--data a b", 2, "--data: 2 files, but the model has 1");
    refused("--input x=x.npy", 2, "--input needs --infer");
    assert_int_equal(run("--no-graph --steps 0"), 0);
    expect(err_text, "note: --no-graph has no effect on cpu");
    assert_int_equal(run("--show-memory --steps 0"), 0);
    expect(out_text, "memory of infer (infer): arena 64 bytes, lower bound 48\nx 0 32\n");
    assert_int_equal(run("--profile --steps 2"), 0);
    expect(out_text, "profile:\n  data ");
    assert_int_equal(run_program(&program, ""), 2);
    expect(err_text, "nothing to do");
    assert_int_equal(run_program(&program, "--train"), 2);
    assert_int_equal(run_program(&program, "--show-backend"), 0);
    assert_string_equal(out_text, "matmul: by_hand\n");
    program.abi = 8;
    assert_int_equal(run_program(&program, "--show-backend"), 2);
    program.size--;
    assert_int_equal(run_program(&program, "--show-backend"), 2);
}

static void test_bad_data(void **state)
{
    (void)state;
    refused("--data none.csv", 1, "none.csv: cannot be opened");
    assert_null(strstr(err_text, "current folder")); /* it is the user's own path */
    assert_string_equal(out_text, "");
    assert_int_equal(rename("tiny.csv", "away.csv"), 0); /* the model's path, from elsewhere */
    refused("--steps 1", 1,
            "tiny.csv: cannot be opened: No such file or directory; the path is relative to the "
            "current folder, --data FILE names another\n");
    assert_int_equal(rename("away.csv", "tiny.csv"), 0);
    write_text("other.csv", "a,b,y\n1,0,1\n0,1,2\n1,one,3\n");
    refused("--data other.csv", 1,
            "error: other.csv:4:3: 'one' where a number is needed, of type f32\n");
    write_text("other.csv", "a,b,z\n1,0,1\n");
    refused("--data other.csv", 1, "other.csv:1:1: no column 'y' for 'y'");
    write_text("other.csv", "a,b,y\n1,0,1\n");
    refused("--data other.csv", 1, "other.csv: 1 rows to train on do not fill a batch of 4");
}

static void test_unwritable(void **state)
{
    (void)state;
    refused("--steps 1 --save tiny.csv/a", 2, "tiny.csv/a: cannot be written");
    assert_string_equal(out_text, ""); /* before anything is trained */
    refused("--steps 1 --log none/log.jsonl", 2, "none/log.jsonl: cannot be written");
}

static void test_log(void **state)
{
    tlm_train train = tiny_train;
    const tlm_program program = tiny_program(&train);
    char text[4096];

    (void)state;
    train.split = TLM_SPLIT_LAST;
    train.split_fraction = 0.5;
    train.validate_every = 2;
    assert_int_equal(run_program(&program, "--steps 3 --log log.jsonl --save a.safetensors"), 0);
    expect(out_text, "dataset size = 4\nvalidation size = 5\n");
    expect(out_text, "\nvalidate step 2: loss=");
    expect(out_text, "\nvalidate step 3: loss=");
    read_text("log.jsonl", text, sizeof text);
    expect(text, "{\"event\":\"start\",\"model\":\"tiny\",\"device\":\"cpu\",\"profile\":\"checked_"
                 "cpu\",\"seed\":0,"
                 "\"step\":0,\"steps\":3,\"rows\":4}\n{\"event\":\"before\",\"step\":0,\"loss\":");
    expect(text, "\n{\"event\":\"step\",\"step\":0,\"loss\":");
    expect(text, ",\"lr\":0.050000000000000003,\"epoch\":0}\n");
    expect(text, "\n{\"event\":\"validate\",\"step\":2,\"loss\":");
    expect(text, "\n{\"event\":\"save\",\"step\":3,\"file\":\"a.safetensors\"}\n{\"event\":\"end\","
                 "\"step\":3}\n");
}

/* `log_loss after` prints the loss of the step's rows with the new weights: smaller here than the
   step's own. */
static void test_log_loss_after(void **state)
{
    tlm_train train = tiny_train;
    const tlm_program program = tiny_program(&train);
    double before, after;

    (void)state;
    assert_int_equal(run_program(&program, "--steps 1"), 0);
    before = atof(strstr(out_text, "step 0: loss=") + 13);
    train.log_loss_after = 1;
    assert_int_equal(run_program(&program, "--steps 1"), 0);
    after = atof(strstr(out_text, "step 0: loss=") + 13);
    assert_true(after < before && after > 0);
}

static void test_check_gradients(void **state)
{
    tlm_train train = tiny_train;
    const tlm_program program = tiny_program(&train);

    (void)state;
    assert_int_equal(run_program(&program, "--check-gradients"), 0);
    expect(out_text, "  fc.weight: 2 elements, worst relative error ");
    expect(out_text, "  fc.bias: 1 elements");
    expect(out_text, "\ntiny: ok\n");
    train.backward = tiny_backward_wrong;
    assert_int_equal(run_program(&program, "--check-gradients"), 1);
    expect(err_text, "a gradient differs from the loss's differences");
}

/* Rows in any number: five through batches of four. */
static void test_infer(void **state)
{
    static const char header[] =
        "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (5, 2)}";
    const float x[5][2] = { { 1, 0 }, { 0, 1 }, { 2, 2 }, { -1, 1 }, { 4, -1 } };
    char text[512];
    FILE *file = fopen("x.npy", "wb");
    float pred[5];

    (void)state;
    assert_non_null(file);
    fwrite(header, 1, 10, file);
    fprintf(file, "%-118s", header + 10);
    fwrite(x, sizeof x, 1, file);
    fclose(file);
    assert_int_equal(run("--infer --input x=x.npy --output pred=pred.npy"), 0);
    file = fopen("pred.npy", "rb");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, 128, file), 128);
    expect(text + 10, "'descr': '<f4', 'fortran_order': False, 'shape': (5, 1), }");
    assert_int_equal(fread(pred, 1, sizeof pred + 1, file), sizeof pred);
    fclose(file);
    for (int i = 0; i < 5; i++)
        assert_true(pred[i] == 0.25f * x[i][0] + 0.5f * x[i][1]);
    assert_int_equal(run("--infer --input x=x.npy"), 0);
    assert_string_equal(
        out_text,
        "pred: f32[5, 1]\n  [0.250000]\n  [0.500000]\n  [1.500000]\n  [0.250000]\n  [0.500000]\n");
    refused("--infer", 2, "--infer needs --input x=FILE.npy");
    refused("--infer --input z=x.npy", 2, "with one of the names x");
    refused("--infer --input x=x.npy x=x.npy", 2, "'x' is given twice");
    refused("--infer --input x=none.npy", 1, "none.npy: cannot be opened");
    refused("--infer --input x=tiny.csv", 1, "tiny.csv: not a .npy file");
    refused("--infer --input x=x.npy --output pred=none/p.npy", 2, "none/p.npy: cannot be written");
    refused("--infer other --input x=x.npy", 2, "no entry 'other'");
    refused("--infer --input x=x.npy --output loss=l.npy", 2, "with one of the names pred");
}

static void test_generate(void **state)
{
    (void)state;
    assert_int_equal(run("--generate --prompt abcd --tokens 3"), 0);
    assert_string_equal(out_text, "abcdefg\n");
    assert_int_equal(run("--generate --prompt a"), 0);
    assert_string_equal(out_text, "abcde\n");
    assert_int_equal(run("--generate --prompt=a --tokens 0"), 0);
    assert_string_equal(out_text, "a\n");
    assert_int_equal(run("--generate --prompt a --temperature 5 --top-k 1"), 0);
    assert_string_equal(out_text, "abcde\n");
    assert_int_equal(run("--generate --prompt a --temperature 5 --seed 9"), 0);
    assert_string_not_equal(out_text, "abcde\n"); /* 255 other bytes together are much likelier */
    refused("--generate --temperature -1", 2, "--temperature: '-1' is not a value for T");
    refused("--prompt a", 2, "--prompt needs --generate");
}

/* Training and asking in one call: first the one, then the other. */
static void test_both(void **state)
{
    (void)state;
    assert_int_equal(run("--train --steps 1 --generate --prompt x"), 0);
    expect(out_text, "\ntiny: ok\n");
    expect(out_text, "xyz{|\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_default_log),
        cmocka_unit_test(test_mean_of_ragged_rows),
        cmocka_unit_test(test_scalar_loss_says_what_it_leaves_out),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_save_every),
        cmocka_unit_test(test_batch_of_nothing),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_bad_data),
        cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_log_loss_after),
        cmocka_unit_test(test_check_gradients),
        cmocka_unit_test(test_infer),
        cmocka_unit_test(test_generate),
        cmocka_unit_test(test_both),
    };

    return cmocka_run_group_tests_name("shell", tests, set_up, tear_down);
}
