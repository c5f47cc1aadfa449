/* The emission.  In: an accepted plan.  Out: NAME.h, NAME.c, NAME_main.c, NAME.plan.json,
   CMakeLists.txt, for CUDA NAME.cu, as texts. Refuses what it has no emitter for, at the node's
   place.  Nothing here depends on time, host, folder or environment. */
#include "emit_c.h"

#include "bundle.h"
#include "hash.h"
#include "literal.h"

#include <stdio.h>
#include <string.h>

const char *tlmc_emit_printf(struct tlmc_emit *e, const char *fmt, ...)
{
    const char *text;
    va_list ap;

    va_start(ap, fmt);
    text = tlmc_arena_vprintf(e->arena, fmt, ap);
    va_end(ap);
    return text;
}

const char *tlmc_emit_quoted(struct tlmc_emit *e, const char *text, int indent)
{
    struct tlmc_strbuf out = { 0 };
    const char *copy;

    tlmc_literal_string(&out, text, indent);
    copy = tlmc_arena_strdup(e->arena, tlmc_strbuf_text(&out));
    tlmc_strbuf_free(&out);
    return copy;
}

const char *tlmc_emit_quoted_place(struct tlmc_emit *e, const struct tlmc_node *node)
{
    return tlmc_emit_quoted(e, tlmc_emit_place(e, node->span), 0);
}

void tlmc_emit_refuse(struct tlmc_emit *e, const struct tlmc_node *node, const char *fmt, ...)
{
    struct tlmc_strbuf text = { 0 };
    va_list ap;

    va_start(ap, fmt);
    tlmc_strbuf_vprintf(&text, fmt, ap);
    va_end(ap);
    tlmc_report(e->diags, TLMC_E_NOT_EMITTABLE, node ? node->span : (struct tlmc_span){ 0, 0, 0 },
                "%s", tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    e->failed = true;
}

void tlmc_emit_need_header(struct tlmc_emit *e, const char *header)
{
    if (!header || !*header)
        return;
    for (unsigned i = 0; i < e->headers.count; i++)
        if (strcmp(e->headers.items[i], header) == 0)
            return;
    TLMC_PUSH(e->arena, &e->headers, header);
}

void tlmc_emit_need_device_header(struct tlmc_emit *e, const char *header)
{
    for (unsigned i = 0; i < e->device_headers.count; i++)
        if (strcmp(e->device_headers.items[i], header) == 0)
            return;
    TLMC_PUSH(e->arena, &e->device_headers, header);
}

bool tlmc_emit_uses_cublas(const struct tlmc_emit *e)
{
    for (unsigned i = 0; i < e->headers.count; i++)
        if (strcmp(e->headers.items[i], "tlm_cublas.h") == 0)
            return true;
    return false;
}

size_t tlmc_emit_activations_bytes(const struct tlmc_emit *e)
{
    return e->cuda ? e->io_bytes : e->plan->activations_bytes;
}

struct tlmc_emit_form *tlmc_emit_find_form(struct tlmc_emit *e, const struct tlmc_form *form)
{
    for (uint32_t f = 0; f < e->form_count; f++)
        if (e->forms[f].form == form)
            return &e->forms[f];
    return NULL;
}

const struct tlmc_emit_form *tlmc_emit_training(const struct tlmc_emit *e)
{
    for (uint32_t f = 0; f < e->form_count; f++)
        if (e->forms[f].form->mode == TLMC_TRAIN)
            return &e->forms[f];
    return NULL;
}

bool tlmc_emit_has_param(const struct tlmc_emit *e, uint32_t param)
{
    const enum tlmc_param_kind kind = e->module->params.items[param].kind;

    return (kind != TLMC_PARAM_OPTIMIZER && kind != TLMC_PARAM_ACCUMULATOR) ||
           tlmc_emit_training(e);
}

const char *tlmc_emit_place(struct tlmc_emit *e, struct tlmc_span span)
{
    const struct tlmc_sources *sources = e->module->sources;
    struct tlmc_line_place place;
    const char *path, *slash;

    if (span.file == 0 || !sources)
        return e->module->source_name ? e->module->source_name : "";
    place = tlmc_span_place(sources, span);
    path = tlmc_sources_get(sources, span.file)->path;
    slash = strrchr(path, '/');
    return tlmc_emit_printf(e, "%s:%u:%u", slash ? slash + 1 : path, place.line, place.column);
}

/* ---- names of forms and offsets */

static void name_form(struct tlmc_emit *e, struct tlmc_emit_form *form)
{
    const char *entry = tlmc_names_valid(e->arena, form->form->entry);

    switch (form->form->mode) {
    case TLMC_INFER:
        form->label = entry;
        form->prefix = e->module->has_entries ? tlmc_emit_printf(e, "%s_%s_", e->model, entry)
                                              : tlmc_emit_printf(e, "%s_", e->model);
        break;
    case TLMC_TRAIN: form->label = "train"; break;
    case TLMC_EVAL: form->label = "evaluate"; break;
    case TLMC_GENERATE: form->label = "generate"; break;
    }
    if (!form->prefix)
        form->prefix = tlmc_emit_printf(e, "%s_%s_", e->model, form->label);
    form->run = tlmc_emit_printf(e, "%s_%s%s", e->model, form->label,
                                 form->form->mode == TLMC_TRAIN ? "_forward" : "");
}

static void name_offsets(struct tlmc_emit *e, struct tlmc_emit_form *form)
{
    const struct tlmc_graph *graph = form->graph;

    form->locals = TLMC_NEW_ARRAY(e->arena, const char *, graph->value_count + 1);
    form->offsets = TLMC_NEW_ARRAY(e->arena, const char *, graph->value_count + 1);
    tlmc_names_init(&form->names, e->arena);
    tlmc_names_make(&form->names, e->model); /* its type's */
    for (uint32_t v = 0; v < graph->value_count; v++) {
        const struct tlmc_placement *p = &form->plan->values[v];

        if (p->place == TLMC_PLACE_NONE)
            continue;
        tlmc_emit_local(e, form, v);
        if (p->place == TLMC_PLACE_ARENA && p->storage == v)
            form->offsets[v] =
                tlmc_names_make(&e->names,
                                tlmc_emit_printf(e, "AT_%s_%s",
                                                 tlmc_names_upper(e->arena, form->label),
                                                 tlmc_names_upper(e->arena, form->locals[v])));
    }
}

static void set_up_forms(struct tlmc_emit *e)
{
    e->form_count = e->plan->form_count;
    e->forms = TLMC_NEW_ARRAY(e->arena, struct tlmc_emit_form, e->form_count + 1);
    for (uint32_t f = 0; f < e->form_count; f++) {
        struct tlmc_emit_form *form = &e->forms[f];

        form->plan = &e->plan->forms[f];
        form->form = form->plan->form;
        form->graph = form->form->graph;
        form->index = f;
        for (uint32_t n = 0; n < form->graph->node_count; n++)
            form->draws |= tlmc_op_info(form->graph->nodes[n].op)->family == TLMC_RANDOM;
        name_form(e, form);
    }
}

static size_t aligned(size_t bytes)
{
    return (bytes + TLMC_ALIGN - 1) / TLMC_ALIGN * TLMC_ALIGN;
}

static bool lives_in_weights(enum tlmc_param_kind kind)
{
    return kind == TLMC_PARAM_TRAINED || kind == TLMC_PARAM_STATE;
}

static void set_up_params(struct tlmc_emit *e)
{
    size_t state_bytes = 0;

    e->param_offsets = TLMC_NEW_ARRAY(e->arena, const char *, e->module->params.count + 1);
    for (uint32_t i = 0; i < e->module->params.count; i++) {
        const char *key = tlmc_names_valid(e->arena, e->module->params.items[i].key);

        if (!tlmc_emit_has_param(e, i))
            continue;
        e->param_count++;
        if (!lives_in_weights(e->module->params.items[i].kind))
            state_bytes =
                e->plan->param_offsets[i] + tlmc_type_bytes(&e->module->params.items[i].type);
        e->param_offsets[i] =
            tlmc_names_make(&e->names,
                            tlmc_emit_printf(e, "AT_%s", tlmc_names_upper(e->arena, key)));
    }
    /* tlm_rt and the fixed members, then a tlm_param each, a counter each form, the scalars and
       rates; generous, and asserted by the emitted text. */
    e->head_bytes = 1024 + 128 * (size_t)e->param_count + 8 * (size_t)e->form_count +
                    4 * (size_t)e->module->scalars.count +
                    32 * (size_t)e->module->train.group_count;
    e->head_bytes = aligned(e->head_bytes);
    e->state_bytes = e->head_bytes + aligned(state_bytes);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    unsigned char bytes[8]; /* the same on every machine */

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    return tlmc_hash(hash, bytes, sizeof bytes);
}

/* Changes when the layout or the public functions change. */
static uint32_t abi_of(const struct tlmc_emit *e)
{
    uint64_t hash = mix(TLMC_HASH_BASIS, e->digest);

    for (const char *p = e->options->version; p && *p; p++)
        hash = mix(hash, (unsigned char)*p);
    hash = mix(hash, e->plan->weights_bytes);
    hash = mix(hash, e->state_bytes);
    hash = mix(hash, e->plan->activations_bytes);
    if (e->cuda)
        hash = mix(hash, e->io_bytes + 1);
    for (uint32_t f = 0; f < e->form_count; f++) {
        hash = mix(hash, (uint64_t)e->forms[f].form->mode);
        hash = mix(hash, e->forms[f].plan->arena_bytes);
        for (uint32_t i = 0; i < e->forms[f].form->inputs.count; i++)
            hash = mix(
                hash,
                tlmc_emit_placement(&e->forms[f], e->forms[f].form->inputs.items[i].value)->offset);
    }
    return (uint32_t)(hash ^ hash >> 32);
}

/* ---- NAME.c */

static void put_section(struct tlmc_strbuf *out, const char *title, const char *text)
{
    if (*text)
        tlmc_strbuf_printf(out, "/* ---- %s */\n\n%s%s", title, text,
                           strlen(text) > 1 && strcmp(text + strlen(text) - 2, "\n\n") == 0 ? ""
                                                                                            : "\n");
}

static void emit_model(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    struct tlmc_strbuf memory = { 0 }, structure = { 0 }, create = { 0 }, accessors = { 0 },
                       cuda = { 0 };

    tlmc_writer_init(&e->tables, &e->tables_text);
    tlmc_writer_init(&e->body, &e->bodies_text);
    tlmc_writer_init(&e->structs, &e->structs_text);
    tlmc_writer_init(&e->offsets, &e->offsets_text);
    for (uint32_t f = 0; f < e->form_count; f++)
        tlmc_emit_form_functions(e, &e->forms[f]);
    tlmc_emit_memory(e, &memory);
    tlmc_emit_struct(e, &structure);
    tlmc_emit_create(e, &create);
    tlmc_emit_accessors(e, &accessors);
    tlmc_writer_end(&e->body);
    tlmc_writer_end(&e->structs);
    tlmc_writer_end(&e->offsets);
    if (e->cuda)
        tlmc_cuda_tables(e, &cuda);
    tlmc_writer_end(&e->tables);

    tlmc_emit_head(e, "The model.  No allocation, no stdio, no globals.", out);
    tlmc_strbuf_printf(out, "#include \"%s.h\"\n\n#include \"tlm_model.h\"\n", e->model);
    if (e->cuda)
        tlmc_strbuf_add(out, "#include \"tlm_cuda.h\"\n#include \"blocks.h\"\n");
    for (unsigned i = 0; i < e->headers.count; i++)
        tlmc_strbuf_printf(out, "#include \"%s\"\n", e->headers.items[i]);
    tlmc_strbuf_char(out, '\n');
    put_section(out, "memory", tlmc_strbuf_text(&memory));
    put_section(out, "the model", tlmc_strbuf_text(&structure));
    put_section(out, "constants", tlmc_strbuf_text(&e->tables_text));
    if (e->cuda)
        put_section(out, "kernels and what travels between host and device",
                    tlmc_strbuf_text(&cuda));
    else
        put_section(out, "step bodies: one for each distinct kernel, shape and formula",
                    tlmc_strbuf_text(&e->bodies_text));
    put_section(out, "entry points", tlmc_strbuf_text(&e->entries_text));
    put_section(out, "tensors", tlmc_strbuf_text(&accessors));
    put_section(out, "creation and state", tlmc_strbuf_text(&create));
    while (out->length > 1 && out->text[out->length - 2] == '\n') /* one newline at the end */
        out->text[--out->length] = '\0';
    tlmc_strbuf_free(&memory);
    tlmc_strbuf_free(&structure);
    tlmc_strbuf_free(&create);
    tlmc_strbuf_free(&accessors);
    tlmc_strbuf_free(&cuda);
}

static void emit_device_code(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    tlmc_emit_head(e, "The device code.  NVRTC and nvcc compile it with -fmad=false.", out);
    tlmc_cuda_device_text(e, out);
}

/* ---- files */

static struct tlmc_strbuf *add_file(struct tlmc_emit *e, struct tlmc_emission *out, const char *fmt)
{
    struct tlmc_emitted *file = &out->files[out->count++];

    TLMC_CHECK(out->count <= sizeof out->files / sizeof *out->files);
    file->name =
        tlmc_emit_printf(e, "%s%s", strcmp(fmt, "CMakeLists.txt") == 0 ? "" : e->model, fmt);
    file->text = (struct tlmc_strbuf){ 0 };
    return &file->text;
}

/* Includes of the emission itself stay; user's headers too, which tlmc does not have. */
static const char *const *kept_includes(struct tlmc_emit *e)
{
    const char **keep = TLMC_NEW_ARRAY(e->arena, const char *, e->headers.count + 2);
    unsigned n = 0;

    keep[n++] = tlmc_emit_printf(e, "%s.h", e->model);
    for (unsigned i = 0; i < e->headers.count; i++)
        if (!e->options->source || !e->options->source(e->headers.items[i]))
            keep[n++] = e->headers.items[i];
    return keep;
}

/* A text with runtime and kernel files put in; `also` are names of files to append. */
static void bundle(struct tlmc_emit *e, struct tlmc_strbuf *text, const char *const *also,
                   bool header_known)
{
    struct tlmc_bundle state = { .arena = e->arena,
                                 .source = e->options->source,
                                 .keep = kept_includes(e) };
    struct tlmc_strbuf whole = { 0 };

    if (header_known) /* NAME.h holds it */
        state.seen[state.seen_count++] = "tlm.h";
    tlmc_bundle_text(&state, tlmc_strbuf_text(text), &whole);
    for (; also && *also; also++)
        tlmc_bundle_file(&state, *also, &whole);
    if (state.missing)
        tlmc_emit_refuse(e, NULL,
                         "single-file output needs the text of '%s', which this tlmc does not have",
                         state.missing);
    tlmc_strbuf_free(text);
    *text = whole;
}

static unsigned count_trained(const struct tlmc_emit *e)
{
    unsigned count = 0;

    for (uint32_t f = 0; f < e->form_count; f++)
        count += e->forms[f].form->mode == TLMC_TRAIN;
    return count;
}

/* Names, offsets, sizes: what every file needs.  False: refused. */
static bool set_up(struct tlmc_emit *e)
{
    if (!tlmc_names_free_for_model(e->model)) {
        tlmc_emit_refuse(
            e, NULL,
            "model '%s' needs another name: this one has a meaning in C or in generated code",
            e->model);
        return false;
    }
    e->MODEL = tlmc_names_upper(e->arena, e->model);
    e->digest = tlmc_emit_digest(e);
    tlmc_names_init(&e->names, e->arena);
    e->names.own = true;
    tlmc_symtab_init(&e->body_keys, e->arena);
    set_up_forms(e);
    set_up_params(e);
    if (count_trained(e) > 1) {
        tlmc_emit_refuse(e, NULL, "%u entries are trained; programs train one", count_trained(e));
        return false;
    }
    tlmc_emit_claim_names(e);
    if (e->failed)
        return false;
    for (uint32_t f = 0; f < e->form_count; f++)
        name_offsets(e, &e->forms[f]);
    if (e->cuda)
        tlmc_cuda_set_up(e);
    e->abi = abi_of(e);
    return true;
}

/* What a CUDA program has besides: device code, and in single files the runtime it links. */
static void emit_cuda_files(struct tlmc_emit *e, struct tlmc_emission *out)
{
    static const char *const runtime[] = { "libtlm_cuda.inc", NULL };
    static const char *const with_cublas[] = { "libtlm_cuda.inc", "cuda_cublas.c", NULL };
    struct tlmc_strbuf *device = add_file(e, out, ".cu"), *session;

    emit_device_code(e, device);
    tlmc_cuda_kernels(e, out);
    out->cublas = tlmc_emit_uses_cublas(e);
    if (!e->options->single_file)
        return;
    bundle(e, device, NULL, false);
    session = add_file(e, out, "_cuda.c");
    tlmc_emit_head(e, "The CUDA runtime of the program.  Needs the CUDA headers and cudart.",
                   session);
    tlmc_strbuf_add(session, "#define _POSIX_C_SOURCE 200809L\n");
    bundle(e, session, out->cublas ? with_cublas : runtime, false);
    tlmc_cuda_fatbin_text(e, session);
}

bool tlmc_emit_c(const tlmc_accepted_plan *accepted, const struct tlmc_emit_options *options,
                 struct tlmc_emission *out, struct tlmc_diags *diags)
{
    static const char *const shell[] = { "libtlm.inc", NULL };
    const struct tlmc_plan *plan = tlmc_accepted(accepted);
    struct tlmc_emit e = {
        .plan = plan, .module = plan->module, .options = options, .diags = diags
    };
    struct tlmc_strbuf *header, *model, *program = NULL;

    *out = (struct tlmc_emission){ 0 };
    e.arena = plan->module->arena;
    e.model = plan->module->name;
    e.cuda = plan->profile->device == TLMC_CUDA;
    if (!set_up(&e))
        return false;
    model = add_file(&e, out, ".c");
    emit_model(&e, model);
    header = add_file(&e, out, ".h");
    tlmc_emit_header(&e, header);
    if (options->with_main) {
        program = add_file(&e, out, "_main.c");
        tlmc_emit_main(&e, program);
    }
    tlmc_plan_json(plan, add_file(&e, out, ".plan.json"));
    tlmc_emit_cmake(&e, add_file(&e, out, "CMakeLists.txt"));
    if (e.cuda)
        emit_cuda_files(&e, out);
    if (options->single_file) {
        bundle(&e, model, NULL, true);
        bundle(&e, header, NULL, false);
        if (program)
            bundle(&e, program, options->shell_apart ? NULL : shell, true);
    }
    for (unsigned i = 0; i < e.links.count && i < TLMC_EMIT_LINKS; i++)
        out->links[out->link_count++] = e.links.items[i];
    tlmc_strbuf_free(&e.tables_text);
    tlmc_strbuf_free(&e.bodies_text);
    tlmc_strbuf_free(&e.entries_text);
    tlmc_strbuf_free(&e.structs_text);
    tlmc_strbuf_free(&e.offsets_text);
    tlmc_strbuf_free(&e.statements);
    if (e.failed)
        tlmc_emission_free(out);
    return !e.failed;
}

void tlmc_emission_free(struct tlmc_emission *emission)
{
    for (unsigned i = 0; i < emission->count; i++)
        tlmc_strbuf_free(&emission->files[i].text);
    emission->count = 0;
}
