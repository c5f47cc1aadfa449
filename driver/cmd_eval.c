/* tlmc eval: an inference form evaluated by the binary64 reference interpreter.  In: a model,
   values of its inputs as .npy files, parameters from --seed or --load.  Out: each output's
   elements with seventeen digits, or as .npy files rounded to their type (--result).  Refuses
   inputs of another dtype or shape, and forms that are not there. */
#include "commands.h"
#include "pipeline.h"

#include "file.h"
#include "spec/interpret.h"
#include "npy.h"
#include "tlm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NPY = 1 << 30 };

struct evaluation {
    const struct tlmc_options *options;
    struct tlmc_arena *arena;
    const struct tlmc_module *module;
    const struct tlmc_form *form;
    struct tlmc_env env;
};

static bool parse_seed(const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9') {
        fprintf(stderr, "tlmc eval: --seed takes a whole number from 0 to 2^64 - 1, not '%s'\n",
                text);
        return false;
    }
    return true;
}

static const struct tlmc_form *find_form(const struct tlmc_options *o,
                                         const struct tlmc_module *module)
{
    const char *wanted = tlmc_opt(o, TLMC_OPT_ENTRY);

    if (o->counts[TLMC_OPT_ENTRY] > 1) {
        fputs("tlmc eval: one --entry at a time\n", stderr);
        return NULL;
    }
    for (unsigned i = 0; i < module->forms.count; i++) {
        const struct tlmc_form *f = &module->forms.items[i];

        if (f->mode == TLMC_INFER && f->outputs.count && (!wanted || strcmp(f->entry, wanted) == 0))
            return f;
    }
    fprintf(stderr, "tlmc eval: no entry with outputs%s%s; there are:", wanted ? " named " : "",
            wanted ? wanted : "");
    for (unsigned i = 0; i < module->forms.count; i++)
        if (module->forms.items[i].mode == TLMC_INFER && module->forms.items[i].outputs.count)
            fprintf(stderr, " %s", module->forms.items[i].entry);
    fputc('\n', stderr);
    return NULL;
}

/* "name=path" of option values: the path of `name`, or NULL. */
static const char *path_of(const char *const *pairs, const char *name)
{
    const size_t length = strlen(name);

    for (; pairs && *pairs; pairs++)
        if (strncmp(*pairs, name, length) == 0 && (*pairs)[length] == '=')
            return *pairs + length + 1;
    return NULL;
}

static bool names_are_known(const char *const *pairs, const tlmc_io_vec *ios, const char *option)
{
    for (; pairs && *pairs; pairs++) {
        const char *equals = strchr(*pairs, '=');
        bool known = false;

        for (unsigned i = 0; equals && i < ios->count; i++)
            known = known || (strlen(ios->items[i].name) == (size_t)(equals - *pairs) &&
                              strncmp(ios->items[i].name, *pairs, (size_t)(equals - *pairs)) == 0);
        if (!known) {
            fprintf(stderr, "tlmc eval: %s %s: NAME=FILE is needed, and NAME one of:", option,
                    *pairs);
            for (unsigned i = 0; i < ios->count; i++)
                fprintf(stderr, " %s", ios->items[i].name);
            fputc('\n', stderr);
            return false;
        }
    }
    return true;
}

static enum tlmc_dtype from_runtime(tlm_dtype dtype)
{
    return dtype == TLM_F32 ? TLMC_F32 : dtype == TLM_I32 ? TLMC_I32 : TLMC_BOOL;
}

static tlm_dtype to_runtime(enum tlmc_dtype dtype)
{
    return dtype == TLMC_F32 ? TLM_F32 : dtype == TLMC_I32 ? TLM_I32 : TLM_BOOL;
}

static double element(const struct tlm_npy *array, size_t i)
{
    float f;
    int32_t n;

    if (array->dtype == TLM_BOOL)
        return array->data[i];
    if (array->dtype == TLM_I32) {
        memcpy(&n, array->data + 4 * i, 4);
        return n;
    }
    memcpy(&f, array->data + 4 * i, 4);
    return (double)f;
}

static bool fits(const struct tlm_npy *array, const struct tlmc_type *type)
{
    bool same = from_runtime(array->dtype) == type->dtype && array->rank == (uint32_t)type->rank;

    for (int i = 0; same && i < type->rank; i++)
        same = array->dims[i] == (uint64_t)type->dims[i];
    return same;
}

static int read_input(const char *path, const struct tlmc_io *io, struct tlmc_tensor *out)
{
    char error[TLM_ERROR_BYTES] = "", text[256];
    struct tlm_bytes bytes = { 0 };
    struct tlm_npy array;
    int status = TLMC_EXIT_OK;

    if (tlm_file_read(path, MAX_NPY, &bytes, error) != TLM_OK ||
        tlm_npy_parse(bytes.data, bytes.size, path, &array, error) != TLM_OK) {
        fprintf(stderr, "tlmc eval: %s\n", error);
        status = TLMC_EXIT_INPUT;
    } else if (!fits(&array, &out->type)) {
        fprintf(stderr, "tlmc eval: '%s' does not hold what input '%s' is: %s\n", path, io->name,
                tlmc_type_text(&out->type, text));
        status = TLMC_EXIT_INPUT;
    } else {
        for (size_t i = 0; i < array.count; i++)
            out->data[i] = element(&array, i);
    }
    tlm_bytes_free(&bytes);
    return status;
}

static int read_inputs(struct evaluation *e)
{
    const char *const *pairs = tlmc_opt_list(e->options, TLMC_OPT_INPUT);

    if (!names_are_known(pairs, &e->form->inputs, "--input"))
        return TLMC_EXIT_USAGE;
    e->env.inputs = TLMC_NEW_ARRAY(e->arena, struct tlmc_tensor, e->form->inputs.count + 1);
    for (unsigned i = 0; i < e->form->inputs.count; i++) {
        const struct tlmc_io *io = &e->form->inputs.items[i];
        const char *path = path_of(pairs, io->name);
        int status;

        if (!path) {
            fprintf(stderr, "tlmc eval: input '%s' needs --input %s=FILE.npy\n", io->name,
                    io->name);
            return TLMC_EXIT_USAGE;
        }
        e->env.inputs[i] = tlmc_tensor_new(tlmc_value_type(e->form->graph, io->value));
        status = read_input(path, io, &e->env.inputs[i]);
        if (status)
            return status;
    }
    return TLMC_EXIT_OK;
}

/* Parameters and saved states from a checkpoint, through the runtime's own reader. */
static int load(struct evaluation *e, const char *path)
{
    const unsigned count = e->module->params.count;
    tlm_param *table = TLMC_NEW_ARRAY(e->arena, tlm_param, count + 1);
    char error[TLM_ERROR_BYTES] = "";
    unsigned n = 0;

    for (unsigned i = 0; i < count; i++) {
        const struct tlmc_param *p = &e->module->params.items[i];
        tlm_param *row = &table[n];

        if (p->kind != TLMC_PARAM_TRAINED && p->kind != TLMC_PARAM_STATE)
            continue;
        *row = (tlm_param){ .size = sizeof *row,
                            .key = p->key,
                            .dtype = to_runtime(p->type.dtype),
                            .rank = (uint32_t)p->type.rank,
                            .count = (size_t)tlmc_type_count(&p->type),
                            .data = tlmc_arena_alloc(e->arena, tlmc_type_bytes(&p->type)),
                            .kind = p->kind == TLMC_PARAM_TRAINED ? TLM_PARAM_TRAINED
                                                                  : TLM_PARAM_STATE };
        for (int d = 0; d < p->type.rank; d++)
            row->dims[d] = (uint32_t)p->type.dims[d];
        n++;
    }
    if (tlm_load(table, n, path, NULL, NULL, NULL, NULL, error) != TLM_OK) {
        fprintf(stderr, "tlmc eval: %s\n", error);
        return TLMC_EXIT_INPUT;
    }
    n = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct tlmc_param *p = &e->module->params.items[i];
        const struct tlm_npy view = { .dtype = to_runtime(p->type.dtype), .data = table[n].data };

        if (p->kind != TLMC_PARAM_TRAINED && p->kind != TLMC_PARAM_STATE)
            continue;
        for (size_t j = 0; j < table[n].count; j++)
            e->env.params[i].data[j] = element(&view, j);
        n++;
    }
    return TLMC_EXIT_OK;
}

static int fill_params(struct evaluation *e)
{
    const unsigned count = e->module->params.count;

    e->env.params = TLMC_NEW_ARRAY(e->arena, struct tlmc_tensor, count + 1);
    for (unsigned i = 0; i < count; i++) {
        const struct tlmc_param *p = &e->module->params.items[i];

        e->env.params[i] = tlmc_tensor_new(&p->type);
        if (p->init.kind == TLMC_INIT_NONE && !tlmc_opt(e->options, TLMC_OPT_LOAD)) {
            fprintf(stderr, "tlmc eval: parameter '%s' has no initialiser: --load FILE is needed\n",
                    p->key);
            return TLMC_EXIT_USAGE;
        }
        if (p->init.kind != TLMC_INIT_NONE)
            tlmc_init_param(p, e->env.seed, e->env.params[i].data);
    }
    return tlmc_opt(e->options, TLMC_OPT_LOAD) ? load(e, tlmc_opt(e->options, TLMC_OPT_LOAD))
                                               : TLMC_EXIT_OK;
}

static int write_result(const char *path, const struct tlmc_tensor *t)
{
    const size_t count = (size_t)tlmc_type_count(&t->type);
    unsigned char *data = calloc(count + 1, 4);
    uint64_t dims[TLMC_MAX_RANK];
    char error[TLM_ERROR_BYTES] = "";
    tlm_status status;

    if (!data)
        tlmc_out_of_memory();
    for (size_t i = 0; i < count; i++) {
        const float f = (float)t->data[i];
        const int32_t n = t->type.dtype == TLMC_F32 ? 0 : (int32_t)t->data[i];

        if (t->type.dtype == TLMC_F32)
            memcpy(data + 4 * i, &f, 4);
        else if (t->type.dtype == TLMC_I32)
            memcpy(data + 4 * i, &n, 4);
        else
            data[i] = t->data[i] != 0.0;
    }
    for (int i = 0; i < t->type.rank; i++)
        dims[i] = (uint64_t)t->type.dims[i];
    status =
        tlm_npy_write(path, to_runtime(t->type.dtype), (uint32_t)t->type.rank, dims, data, error);
    free(data);
    if (status == TLM_OK)
        return TLMC_EXIT_OK;
    fprintf(stderr, "tlmc eval: %s\n", error);
    return TLMC_EXIT_USAGE;
}

static void print_result(const char *name, const struct tlmc_tensor *t)
{
    char text[256];

    printf("%s: %s\n", name, tlmc_type_text(&t->type, text));
    for (int64_t i = 0; i < tlmc_type_count(&t->type); i++)
        printf("  %.17g\n", t->data[i]);
}

static int write_results(const struct evaluation *e, const struct tlmc_tensor *values)
{
    const char *const *pairs = tlmc_opt_list(e->options, TLMC_OPT_RESULT);
    int status = TLMC_EXIT_OK;

    for (unsigned i = 0; !status && i < e->form->outputs.count; i++) {
        const struct tlmc_io *io = &e->form->outputs.items[i];
        const char *path = path_of(pairs, io->name);

        if (path)
            status = write_result(path, &values[io->value]);
        else
            print_result(io->name, &values[io->value]);
    }
    return status;
}

static int evaluate(struct evaluation *e)
{
    const uint32_t count = e->form->graph->value_count;
    struct tlmc_tensor *values = TLMC_NEW_ARRAY(e->arena, struct tlmc_tensor, count + 1);
    char error[256] = "";
    int status = read_inputs(e);

    if (!status)
        status = fill_params(e);
    if (!status &&
        !names_are_known(tlmc_opt_list(e->options, TLMC_OPT_RESULT), &e->form->outputs, "--result"))
        status = TLMC_EXIT_USAGE;
    if (!status && !tlmc_interpret(e->form->graph, &e->env, 1u << TLMC_FORWARD, values, error)) {
        fprintf(stderr, "tlmc eval: %s\n", error);
        status = TLMC_EXIT_INPUT;
    }
    if (!status)
        status = write_results(e, values);
    tlmc_tensor_free(values, count);
    if (e->env.inputs)
        tlmc_tensor_free(e->env.inputs, e->form->inputs.count);
    if (e->env.params)
        tlmc_tensor_free(e->env.params, e->module->params.count);
    return status;
}

int tlmc_cmd_eval(const struct tlmc_options *options)
{
    struct evaluation e = { .options = options };
    struct tlmc_compilation c;
    int status = TLMC_EXIT_OK;

    tlmc_compilation_begin(&c, options);
    if (tlmc_opt(options, TLMC_OPT_SEED) &&
        !parse_seed(tlmc_opt(options, TLMC_OPT_SEED), &e.env.seed))
        status = TLMC_EXIT_USAGE;
    if (!status)
        status = tlmc_stage_module(&c);
    if (!status) {
        e.arena = &c.arena;
        e.module = c.module;
        e.form = find_form(options, c.module);
        status = e.form ? evaluate(&e) : TLMC_EXIT_USAGE;
    }
    return tlmc_compilation_end(&c, status);
}
