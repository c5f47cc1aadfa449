/* Cases -> module -> accepted plan -> C -> shared object -> results. */
#include "emitted.h"

#include "emit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the module: one inference form a case */

struct compilation {
    struct tlmc_arena arena;
    struct tlmc_symtab symbols;
    struct tlmc_sources sources;
    struct tlmc_diags diags;
    struct tlmc_module module;
};

static tlmc_sym name_of(struct compilation *c, const char *stem, unsigned i)
{
    char text[32];

    snprintf(text, sizeof text, "%s%u", stem, i);
    return tlmc_intern(&c->symbols, text);
}

static void add_state(struct compilation *c, const struct tlmc_type *type)
{
    struct tlmc_param param = { .type = *type,
                                .kind = TLMC_PARAM_STATE,
                                .init = { .kind = TLMC_INIT_CONSTANT },
                                .ordinal = c->module.params.count,
                                .of = TLMC_NONE };

    param.key = name_of(c, "p", param.ordinal);
    TLMC_PUSH(&c->arena, &c->module.params, param);
}

static void add_form(struct compilation *c, const struct ops_case *one, unsigned index)
{
    const struct ops_graph built = ops_build(one, &c->arena, c->module.params.count);
    struct tlmc_form form = { .entry = name_of(c, "c", index),
                              .mode = TLMC_INFER,
                              .graph = built.graph,
                              .total_loss = TLMC_NONE };

    for (uint32_t i = 0; i < one->operand_count; i++) {
        const struct tlmc_io io = { .name = name_of(c, "x", i), .value = built.operands[i] };

        if (one->operands[i].role == OPS_INPUT)
            TLMC_PUSH(&c->arena, &form.inputs, io);
        else if (one->operands[i].role == OPS_STATE)
            add_state(c, &one->operands[i].type);
    }
    for (uint32_t i = 0; i < built.result_count; i++) {
        const struct tlmc_io io = { .name = name_of(c, "y", i), .value = built.results[i] };

        TLMC_PUSH(&c->arena, &form.outputs, io);
    }
    form.random_sites = 64;
    TLMC_PUSH(&c->arena, &c->module.forms, form);
}

static void build_module(struct compilation *c, const struct ops_list *list, const char *name)
{
    memset(c, 0, sizeof *c);
    tlmc_symtab_init(&c->symbols, &c->arena);
    tlmc_sources_init(&c->sources, &c->arena);
    tlmc_diags_init(&c->diags, &c->arena, &c->sources);
    c->module.arena = &c->arena;
    c->module.symbols = &c->symbols;
    c->module.sources = &c->sources;
    c->module.name = tlmc_intern(&c->symbols, name);
    c->module.source_name = c->module.name;
    c->module.command = "";
    c->module.has_entries = true;
    for (uint32_t i = 0; i < list->count; i++)
        add_form(c, &list->cases[i], i);
}

/* ---- text and compiler */

static bool write_file(const char *dir, const char *name, const char *text)
{
    char path[1024];
    FILE *file;
    bool written;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "wb");
    if (!file)
        return false;
    written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

/* The emitted main hands its table to the shell: this shell hands it on. */
static const char shell[] =
    "#include \"tlm_program.h\"\n"
    "int tlm_shell_main(const tlm_program *program, int argc, char **argv)\n"
    "{\n"
    "    (void)argc;\n"
    "    *(const tlm_program **)(void *)argv = program;\n"
    "    return 0;\n"
    "}\n";

static void count_steps(struct ops_program *p, const struct tlmc_plan *plan)
{
    for (uint32_t f = 0; f < plan->form_count; f++)
        for (uint32_t i = 0; i < plan->forms[f].step_count; i++)
            p->steps[f] += plan->forms[f].steps[i].kind != TLMC_STEP_NOTHING;
}

static bool emit(struct ops_program *p, struct compilation *c, const char *profile, const char *dir)
{
    const struct tlmc_plan_options plan_options = { .profile = profile };
    const struct tlmc_emit_options emit_options = { .with_main = true, .version = "test" };
    struct tlmc_catalog *catalog = tlmc_catalog_new(&c->arena, &c->symbols, &c->diags);
    const struct tlmc_plan *plan = tlmc_plan_make(&c->module, catalog, &plan_options, &c->diags);
    const tlmc_accepted_plan *accepted = plan ? tlmc_plan_accept(plan, &c->diags) : NULL;
    struct tlmc_emission emission = { .count = 0 };
    bool done = accepted && tlmc_emit_c(accepted, &emit_options, &emission, &c->diags);

    if (accepted)
        count_steps(p, plan);
    mkdir(dir, 0777);
    for (unsigned i = 0; done && i < emission.count; i++)
        done = write_file(dir, emission.files[i].name, tlmc_strbuf_text(&emission.files[i].text));
    tlmc_emission_free(&emission);
    tlmc_diags_print(&c->diags, stderr);
    return done && write_file(dir, "shell_stub.c", shell);
}

static bool compile(const char *name, const char *dir, const char *flags)
{
    char command[4096];

    snprintf(command, sizeof command,
             "%s %s %s -fPIC -shared -Wl,-Bsymbolic -I'%s' -I'%s/runtime' -I'%s/kernels_cpu' "
             "'%s/%s.c' '%s/%s_main.c' '%s/shell_stub.c' -o '%s/%s.so' -lm",
             OPS_CC, OPS_CFLAGS, flags, dir, TLMC_SOURCE_DIR, TLMC_SOURCE_DIR, dir, name, dir, name,
             dir, dir, name);
    if (system(command) == 0)
        return true;
    fprintf(stderr, "failed: %s\n", command);
    return false;
}

bool ops_program_load(struct ops_program *p, const struct ops_list *list, const char *path)
{
    void *symbol;
    int (*entry)(int, char **);

    p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    symbol = p->handle ? dlsym(p->handle, "main") : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    memcpy(&entry, &symbol, sizeof entry);
    entry(0, (char **)(void *)&p->program);
    if (p->program->infer_count == list->count)
        return true;
    fprintf(stderr, "%u forms, wanted %u\n", p->program->infer_count, list->count);
    return false;
}

bool ops_program_emit(struct ops_program *p, const struct ops_list *list, const char *name,
                      const char *profile, const char *dir)
{
    struct compilation c;
    bool done;

    *p = (struct ops_program){ .handle = NULL };
    build_module(&c, list, name);
    done = emit(p, &c, profile, dir);
    tlmc_arena_free(&c.arena);
    return done;
}

bool ops_program_open(struct ops_program *p, const struct ops_list *list, const char *name,
                      const char *profile, const char *dir)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%s.so", dir, name);
    /* levels do not exist for reference kernels: compile them once */
    return ops_program_emit(p, list, name, profile, dir) &&
           compile(name, dir, strncmp(profile, "reference", 9) == 0 ? "-DTLM_ONLY_BASE" : "") &&
           ops_program_load(p, list, path);
}

void ops_program_close(struct ops_program *p)
{
    if (p->handle)
        dlclose(p->handle);
}

/* ---- parallel loops cut in odd pieces: ranges are any, in any order */

struct piece {
    tlm_range_fn *fn;
    void *context;
    size_t begin, end;
    pthread_t thread;
    bool started;
};

static void *run_piece(void *p)
{
    const struct piece *piece = p;

    piece->fn(piece->context, piece->begin, piece->end);
    return NULL;
}

static void cut(void *user, size_t count, size_t grain, tlm_range_fn *fn, void *context)
{
    const uint32_t pieces = *(const uint32_t *)user;
    struct piece all[8];
    size_t begin = 0;

    (void)grain;
    for (uint32_t i = 0; i < pieces; i++) {
        const size_t rest = count - begin;
        const size_t take = i + 1 == pieces ? rest : i % 2 ? (rest + 2) / 3 : rest / 5;

        all[i] =
            (struct piece){ .fn = fn, .context = context, .begin = begin, .end = begin + take };
        begin += take;
    }
    for (uint32_t i = pieces; i-- > 0;) {
        if (all[i].begin == all[i].end)
            continue;
        all[i].started =
            pieces > 2 && pthread_create(&all[i].thread, NULL, run_piece, &all[i]) == 0;
        if (!all[i].started)
            run_piece(&all[i]);
    }
    for (uint32_t i = 0; i < pieces; i++)
        if (all[i].started)
            pthread_join(all[i].thread, NULL);
}

/* ---- one run */

enum { GUARD = 64, GUARD_BYTE = 0x5a, POISON = 0xff };

static void *block_new(size_t bytes)
{
    const size_t padded = (bytes + GUARD + TLM_ALIGN - 1) / TLM_ALIGN * TLM_ALIGN;
    unsigned char *block = aligned_alloc(TLM_ALIGN, padded);

    if (!block)
        tlmc_out_of_memory();
    memset(block, POISON, bytes);
    memset(block + bytes, GUARD_BYTE, padded - bytes);
    return block;
}

static bool is_whole(const void *block, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)block + bytes;

    for (int i = 0; i < GUARD; i++)
        if (at[i] != GUARD_BYTE)
            return false;
    return true;
}

/* Slot of a case's first state among the program's parameters. */
static uint32_t first_state(const struct ops_list *list, uint32_t index)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < index; i++)
        for (uint32_t k = 0; k < list->cases[i].operand_count; k++)
            count += list->cases[i].operands[k].role == OPS_STATE;
    return count;
}

static void fill(const struct ops_case *c, const tlm_form *form, const tlm_param *params,
                 void *model)
{
    uint32_t input = 0, state = 0;

    for (uint32_t i = 0; i < c->operand_count; i++) {
        struct tlmc_tensor data;

        if (c->operands[i].role == OPS_ABSENT)
            continue;
        data = ops_data(c, i);
        ops_store(&data, c->operands[i].role == OPS_INPUT ? form->inputs[input++].data(model)
                                                          : params[state++].data);
        tlmc_tensor_free(&data, 1);
    }
}

static struct ops_buffer copy_of(enum tlmc_dtype dtype, uint32_t rank, const uint32_t *dims,
                                 const void *data)
{
    int64_t wide[TLMC_MAX_RANK];
    struct tlmc_type type;
    struct ops_buffer buffer;

    for (uint32_t i = 0; i < rank; i++)
        wide[i] = dims[i];
    type = tlmc_type_make(dtype, (int)rank, wide);
    buffer = ops_buffer_new(&type);
    memcpy(buffer.data.any, data, tlmc_type_bytes(&type));
    return buffer;
}

static void collect(struct ops_outcome *o, const struct ops_case *c, const tlm_form *form,
                    const tlm_param *params, void *model)
{
    uint32_t state = 0;

    for (uint32_t i = 0; i < form->output_count; i++)
        o->results[i] = copy_of((enum tlmc_dtype)form->outputs[i].dtype, form->outputs[i].rank,
                                form->outputs[i].dims, form->outputs[i].data(model));
    for (uint32_t i = 0; i < c->operand_count; i++) {
        if (c->operands[i].role != OPS_STATE)
            continue;
        o->states[i] = copy_of((enum tlmc_dtype)params[state].dtype, params[state].rank,
                               params[state].dims, params[state].data);
        state++;
    }
}

_Static_assert((int)TLM_F32 == (int)TLMC_F32 && (int)TLM_I32 == (int)TLMC_I32 &&
                   (int)TLM_BOOL == (int)TLMC_BOOL,
               "the runtime's element types are numbered as the compiler's");

static void run_model(struct ops_outcome *o, const struct ops_program *p,
                      const struct ops_list *list, uint32_t index, const tlm_options *options,
                      void *model)
{
    const struct ops_case *c = &list->cases[index];
    const tlm_form *form = &p->program->infer[index];
    const tlm_param *params;
    size_t had, count;
    uint32_t first;

    o->status = p->program->create(model, options);
    if (o->status != TLM_OK)
        return;
    params = p->program->params(model, &had);
    first = had > 0 ? first_state(list, index) : 0;
    fill(c, form, had > 0 ? params + first : params, model);
    o->status = form->run(model);
    if (o->status == TLM_OK)
        o->status = p->program->wait(model);
    if (o->status == TLM_OK) {
        params = p->program->params(model, &count); /* where states are on a device: fetches them */
        if (count == had)
            collect(o, c, form, had > 0 ? params + first : params, model);
        else
            o->status = TLM_ERR_STATE;
    }
    if (o->status != TLM_OK)
        snprintf(o->error, sizeof o->error, "%s", p->program->error(model));
    p->program->destroy(model);
}

struct ops_outcome ops_run(const struct ops_program *p, const struct ops_list *list, uint32_t index,
                           struct ops_machine machine)
{
    const tlm_program *program = p->program;
    struct ops_outcome o = { .status = TLM_OK };
    tlm_options options = TLM_OPTIONS_INIT;
    void *model = block_new(program->model_bytes);

    options.abi = program->abi;
    options.weights = block_new(options.weights_bytes = program->weights_bytes);
    options.state = block_new(options.state_bytes = program->state_bytes);
    options.activations = block_new(options.activations_bytes = program->activations_bytes);
    options.seed = OPS_SEED;
    options.threads = machine.threads;
    options.cpu = machine.cpu;
    options.no_graph = machine.no_graph;
    options.error_text = o.error;
    if (machine.threads > 1) {
        options.parallel = cut;
        options.parallel_user = &machine.threads;
    }
    run_model(&o, p, list, index, &options, model);
    if (!is_whole(model, program->model_bytes))
        o.broken = "model";
    else if (!is_whole(options.weights, program->weights_bytes))
        o.broken = "weights";
    else if (!is_whole(options.state, program->state_bytes))
        o.broken = "state";
    else if (!is_whole(options.activations, program->activations_bytes))
        o.broken = "activations";
    free(model);
    free(options.weights);
    free(options.state);
    free(options.activations);
    return o;
}

void ops_outcome_free(struct ops_outcome *outcome)
{
    ops_buffer_free(outcome->results, OPS_MAX_RESULTS);
    ops_buffer_free(outcome->states, OPS_MAX_OPERANDS);
}
