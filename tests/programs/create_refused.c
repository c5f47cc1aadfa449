/* In place of the program shell: what a program's create refuses, each with its status and message.
   A refused create makes no model and writes no byte of the caller's blocks. */
#include "tlm_program.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 3, GUARD = TLM_ALIGN, PATTERN = 0xa5 };

struct blocks {
    unsigned char *data[BLOCKS]; /* each with room to be shifted by less than GUARD */
    size_t bytes[BLOCKS];
    tlm_options options;
    char error[TLM_ERROR_BYTES];
};

static const char *const names[BLOCKS] = { "weights", "state", "activations" };

static int say(const char *what, const char *name, const char *got)
{
    fprintf(stderr, "%s of %s: %s\n", what, name, got);
    return 1;
}

/* All as it should be. */
static void set_up(struct blocks *b, const tlm_program *program)
{
    for (int i = 0; i < BLOCKS; i++)
        memset(b->data[i], PATTERN, b->bytes[i] + GUARD);
    b->options = (tlm_options)TLM_OPTIONS_INIT;
    b->options.abi = program->abi;
    b->options.error_text = b->error;
    b->options.weights = b->data[0], b->options.weights_bytes = b->bytes[0];
    b->options.state = b->data[1], b->options.state_bytes = b->bytes[1];
    b->options.activations = b->data[2], b->options.activations_bytes = b->bytes[2];
    strcpy(b->error, "untouched");
}

static int untouched(const struct blocks *b)
{
    for (int i = 0; i < BLOCKS; i++)
        for (size_t k = 0; k < b->bytes[i] + GUARD; k++)
            if (b->data[i][k] != PATTERN)
                return 0;
    return 1;
}

/* create with the options as they are now. */
static int refuses(struct blocks *b, const tlm_program *program, tlm_status wanted,
                   const char *text, const char *name)
{
    void *model = b;
    char whole[TLM_ERROR_BYTES];
    const tlm_status status = program->create(&model, &b->options);

    snprintf(whole, sizeof whole, "%s%s", text, name);
    if (status != wanted)
        return say(text, name, status == TLM_OK ? "it was accepted" : "another status");
    if (strcmp(b->error, whole) != 0)
        return say(text, name, b->error);
    if (model)
        return say(text, name, "there is a model");
    return untouched(b) ? 0 : say(text, name, "a block was written");
}

static int refuses_block(struct blocks *b, const tlm_program *program, int which)
{
    void **const block[BLOCKS] = { &b->options.weights, &b->options.state,
                                   &b->options.activations };
    size_t *const bytes[BLOCKS] = { &b->options.weights_bytes, &b->options.state_bytes,
                                    &b->options.activations_bytes };
    int failed = 0;

    set_up(b, program);
    *block[which] = NULL;
    failed |= refuses(b, program, TLM_ERR_MEMORY, "missing memory block: ", names[which]);
    set_up(b, program);
    --*bytes[which];
    failed |= refuses(b, program, TLM_ERR_MEMORY, "memory block too small: ", names[which]);
    set_up(b, program);
    *bytes[which] = 0;
    failed |= refuses(b, program, TLM_ERR_MEMORY, "memory block too small: ", names[which]);
    for (int shift = 1; shift < GUARD; shift *= 2) {
        set_up(b, program);
        *block[which] = b->data[which] + shift;
        failed |= refuses(b, program, TLM_ERR_MEMORY,
                          "memory block not aligned to 64 bytes: ", names[which]);
    }
    return failed;
}

int tlm_shell_main(const tlm_program *program, int argc, char **argv)
{
    struct blocks b = { .bytes = { program->weights_bytes, program->state_bytes,
                                   program->activations_bytes } };
    void *model = NULL;
    int failed = 0;

    (void)argc;
    (void)argv;
    for (int i = 0; i < BLOCKS; i++) {
        b.data[i] = aligned_alloc(TLM_ALIGN, (b.bytes[i] + GUARD - 1) / GUARD * GUARD + GUARD);
        if (!b.data[i] || b.bytes[i] == 0)
            return 2;
    }
    for (int i = 0; i < BLOCKS; i++)
        failed |= refuses_block(&b, program, i);
    set_up(&b, program);
    b.options.abi++;
    failed |= refuses(&b, program, TLM_ERR_ABI, "options.abi is not that of this model", "");
    set_up(&b, program);
    b.options.size--; /* another layout: there may be no error_text */
    failed |= refuses(&b, program, TLM_ERR_ABI, "untouched", "");
    set_up(&b, program);
    b.options.error_text = NULL;
    b.options.weights = NULL;
    failed |= refuses(&b, program, TLM_ERR_MEMORY, "untouched", "");
    set_up(&b, program);
    if (program->create(&model, &b.options) != TLM_OK)
        return say("create", program->name, b.error);
    if (program->destroy)
        program->destroy(&model);
    for (int i = 0; i < BLOCKS; i++)
        free(b.data[i]);
    if (!failed)
        puts("all refused");
    return failed;
}
