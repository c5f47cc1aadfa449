/* Entry points: one function for each phase of a form and, in training, one for a whole batch; one
   statement a plan step, read from top to bottom.  Before a step stands what it is: its number in
   the plan, nodes, place in the source, capsules and their trust, values with their shapes.  A
   function begins with the pointers it uses. More than STEPS_A_FUNCTION steps are cut into parts at
   changes of scope. */
#include "emit_c.h"

#include "bind.h"
#include "literal.h"

#include <string.h>

enum { STEPS_A_FUNCTION = 60 };

bool tlmc_emit_has_phase(const struct tlmc_emit_form *form, enum tlmc_phase phase)
{
    for (uint32_t i = 0; i < form->plan->step_count; i++)
        if (form->plan->steps[i].phase == phase)
            return true;
    return false;
}

static void add_use(struct tlmc_emit *e, tlmc_emit_use_vec *uses, uint32_t value, bool written)
{
    for (unsigned i = 0; i < uses->count; i++)
        if (uses->items[i].value == value) {
            uses->items[i].written |= written;
            return;
        }
    TLMC_PUSH(e->arena, uses, ((struct tlmc_emit_use){ value, written }));
}

const char *tlmc_emit_use(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value,
                          bool written)
{
    add_use(e, &e->uses, value, written);
    add_use(e, &e->step_uses, value, written);
    return tlmc_emit_local(e, form, value);
}

/* ---- comments */

static const char *node_range(struct tlmc_emit *e, const struct tlmc_step *step)
{
    if (step->node_count == 1)
        return tlmc_emit_printf(e, "n%u", step->nodes[0]);
    return tlmc_emit_printf(e, "n%u..n%u", step->nodes[0], tlmc_step_last(step));
}

static void append(struct tlmc_strbuf *out, const char *separator, const char *text)
{
    if (strstr(tlmc_strbuf_text(out), text) != NULL && strcmp(separator, "; ") == 0)
        return; /* each capsule once */
    tlmc_strbuf_printf(out, "%s%s", out->length ? separator : "", text);
}

enum { MOST_VALUES = 16 }; /* of one list; longer ones end in "..." */

struct values { /* what a step reads, or writes: "x: f32[1, 2], fc1_weight: f32[8, 2]" */
    struct tlmc_strbuf text;
    unsigned count;
};

static void add_value(struct values *list, const char *text, const char *also)
{
    if (++list->count <= MOST_VALUES)
        tlmc_strbuf_printf(&list->text, "%s%s%s", list->text.length ? ", " : "", text, also);
    else if (list->count == MOST_VALUES + 1)
        tlmc_strbuf_add(&list->text, ", ...");
}

/* A result, which may overwrite an operand. */
static void add_result(struct tlmc_emit *e, const struct tlmc_emit_form *form, uint32_t value,
                       struct values *writes)
{
    const bool in_place = form->plan->values[value].storage != value;

    add_value(writes, tlmc_emit_value_text(e, form, value), in_place ? " in place" : "");
}

/* Of a call: its operands, the product's as they are really read. */
static void call_values(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                        const struct tlmc_step *step, struct values *reads, struct values *writes)
{
    for (uint32_t n = 0; n < step->node_count; n++) {
        const struct tlmc_node *node = &form->graph->nodes[step->nodes[n]];

        for (uint32_t i = 0; i < node->input_count; i++) {
            const bool folded = i < 2 && step->operands[i] != TLMC_NONE;
            const uint32_t value = folded ? step->operands[i] : node->inputs[i];

            if (value != TLMC_NONE && form->plan->values[value].place != TLMC_PLACE_NONE)
                add_value(reads, tlmc_emit_value_text(e, form, value), "");
        }
        for (uint32_t i = 0; i < node->result_count; i++)
            if (form->plan->values[node->first_result + i].place != TLMC_PLACE_NONE)
                add_result(e, form, node->first_result + i, writes);
    }
}

/* Of several nodes in one statement: its pointers, then the numbers in its body. */
static void loop_values(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                        const struct tlmc_step *step, struct values *reads, struct values *writes)
{
    for (unsigned i = 0; i < e->step_uses.count; i++) {
        const struct tlmc_emit_use *use = &e->step_uses.items[i];

        if (use->written)
            add_result(e, form, use->value, writes);
        else
            add_value(reads, tlmc_emit_value_text(e, form, use->value), "");
    }
    for (uint32_t n = 0; n < step->node_count; n++) {
        const struct tlmc_node *node = &form->graph->nodes[step->nodes[n]];

        for (uint32_t i = 0; i < node->input_count; i++)
            if (tlmc_emit_is_literal(form, node->inputs[i]))
                add_value(reads, tlmc_emit_literal(e, form, node->inputs[i]), "");
    }
}

/* "x: f32[1, 2], fc1_weight: f32[8, 2] -> h: f32[1, 8]", in the order of the statement below; of
   updates the leaves that are written. */
static void step_values(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                        const struct tlmc_step *step, struct tlmc_strbuf *out)
{
    struct values reads = { 0 }, writes = { 0 };

    if (step->kind == TLMC_STEP_UPDATES)
        for (uint32_t n = 0; n < step->node_count; n++)
            add_value(&writes,
                      tlmc_emit_value_text(e, form, form->graph->nodes[step->nodes[n]].inputs[0]),
                      "");
    else if (step->node_count > 1)
        loop_values(e, form, step, &reads, &writes);
    else
        call_values(e, form, step, &reads, &writes);
    if (reads.count || writes.count)
        tlmc_strbuf_printf(out, "\n%s%s%s", tlmc_strbuf_text(&reads.text),
                           writes.count ? reads.count ? " -> " : "-> " : "",
                           tlmc_strbuf_text(&writes.text));
    tlmc_strbuf_free(&reads.text);
    tlmc_strbuf_free(&writes.text);
}

/* The step's number is that of `tlmc plan --steps` and of the memory plan. */
static void step_comment(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                         const struct tlmc_step *step)
{
    const struct tlmc_node *first = &form->graph->nodes[step->nodes[0]];
    struct tlmc_strbuf text = { 0 }, ops = { 0 }, capsules = { 0 };

    for (uint32_t n = 0; n < step->node_count; n++) {
        const struct tlmc_capsule *capsule = form->plan->choice[step->nodes[n]];

        if (n < (step->kind == TLMC_STEP_UPDATES ? 1 : 8))
            append(&ops, ", ", tlmc_op_info(form->graph->nodes[step->nodes[n]].op)->name);
        if (capsule)
            append(&capsules, "; ",
                   tlmc_emit_printf(e, "%s (%s)", capsule->name, tlmc_trust_name(capsule->trust)));
    }
    if (step->kind == TLMC_STEP_UPDATES && step->node_count > 1)
        tlmc_strbuf_printf(&ops, " of %u tensors", step->node_count);
    else if (step->node_count > 8)
        tlmc_strbuf_add(&ops, ", ...");
    if (step->kind_count > 1)
        tlmc_strbuf_printf(&ops, " in %u kinds", step->kind_count);
    tlmc_strbuf_printf(&text, "s%u %s  %s  %s%s%s", (unsigned)(step - form->plan->steps),
                       node_range(e, step), tlmc_strbuf_text(&ops), tlmc_emit_place(e, first->span),
                       first->scope && *first->scope ? " in " : "",
                       first->scope ? first->scope : "");
    if (capsules.length)
        tlmc_strbuf_printf(&text, "  %s", tlmc_strbuf_text(&capsules));
    if (step->transpose_a || step->transpose_b)
        tlmc_strbuf_printf(&text, "  reads %s transposed",
                           !step->transpose_b  ? "a"
                           : step->transpose_a ? "a and b"
                                               : "b");
    if (step->note)
        tlmc_strbuf_printf(&text, "  %s", step->note);
    if (step->kind != TLMC_STEP_NOTHING)
        step_values(e, form, step, &text);
    tlmc_write_comment(&e->entry, tlmc_strbuf_text(&text));
    tlmc_strbuf_free(&text);
    tlmc_strbuf_free(&ops);
    tlmc_strbuf_free(&capsules);
}

/* ---- one step */

/* The handler of the step's first node; false and reported when there is none, or it does not fit
   the capsule. */
static bool bind(struct tlmc_emit *e, const struct tlmc_call *call, struct tlmc_handler *handler)
{
    const char *error = "no emitter";

    if (!tlmc_handler_find(call->node->op, call->capsule->provider, call->capsule->device, e->arena,
                           handler))
        tlmc_emit_refuse(e, call->node, "op '%s' has no emitter",
                         tlmc_op_info(call->node->op)->name);
    else if ((error = tlmc_bind(handler, call->capsule, e->arena)) != NULL)
        tlmc_emit_refuse(e, call->node, "%s", error);
    return error == NULL;
}

static void need_header(struct tlmc_call *call, const struct tlmc_handler *handler)
{
    const bool single = call->e->options->single_file && handler->header;
    const char *header = single ? handler->header : call->capsule->header;

    if (handler->on_device)
        tlmc_emit_need_device_header(call->e, header);
    else
        tlmc_emit_need_header(call->e, header);
}

/* The call of the step's n-th node; false and reported when there is no code for it. */
static bool emit_node(struct tlmc_call *call, uint32_t n)
{
    struct tlmc_handler handler;

    tlmc_call_node(call, n);
    if (call->capsule->abi == TLMC_ABI_CALL) {
        tlmc_emit_user_call(call);
        return true;
    }
    if (!bind(call->e, call, &handler))
        return false;
    if (handler.emit) {
        need_header(call, &handler);
        handler.emit(call);
    } else {
        tlmc_emit_pointwise(call->e, call->form, call->step);
    }
    return true;
}

/* Several calls, which only CUDA has in one step: one launch. */
static void emit_launch(struct tlmc_call *call)
{
    struct tlmc_segments segments = { 0 };

    for (uint32_t n = 0; n < call->step->node_count; n++) {
        call->segments = &segments;
        call->by_block = false;
        if (!emit_node(call, n))
            return;
        if (!call->by_block || segments.list.count != n + 1) {
            tlmc_emit_refuse(call->e, call->node,
                             "capsule '%s' fuses launch, but its kernel cannot be part of one",
                             call->capsule->name);
            return;
        }
    }
    tlmc_call_node(call, 0); /* the launch has its place, as the step's comment has */
    tlmc_call_run_segments(call);
}

/* One kernel for all of them, or a user's for each. */
static void emit_updates(struct tlmc_call *call)
{
    struct tlmc_handler handler;

    if (call->capsule->abi == TLMC_ABI_CALL) {
        for (uint32_t n = 0; n < call->step->node_count; n++)
            emit_node(call, n);
    } else if (bind(call->e, call, &handler)) {
        need_header(call, &handler);
        tlmc_emit_updates(call->e, call->form, call->step);
    }
}

static void emit_call(struct tlmc_emit *e, struct tlmc_emit_form *form,
                      const struct tlmc_step *step)
{
    struct tlmc_call call;

    tlmc_call_begin(&call, e, form, step);
    if (step->kind == TLMC_STEP_UPDATES)
        emit_updates(&call);
    else if (step->node_count > 1)
        emit_launch(&call);
    else
        emit_node(&call, 0);
    tlmc_call_end(&call);
}

/* The comment says what the code uses, so the code is written first. */
static void emit_step(struct tlmc_emit *e, struct tlmc_emit_form *form,
                      const struct tlmc_step *step)
{
    struct tlmc_strbuf code = { 0 };

    e->step_uses.count = 0;
    e->entry.out = &code;
    switch (step->kind) {
    case TLMC_STEP_NOTHING: break;
    case TLMC_STEP_CALL:
    case TLMC_STEP_UPDATES: emit_call(e, form, step); break;
    case TLMC_STEP_POINTWISE: tlmc_emit_pointwise(e, form, step); break;
    }
    e->entry.out = &e->statements;
    step_comment(e, form, step);
    tlmc_strbuf_add(&e->statements, tlmc_strbuf_text(&code));
    tlmc_strbuf_free(&code);
}

/* ---- functions */

static void begin_function(struct tlmc_emit *e)
{
    tlmc_strbuf_clear(&e->statements);
    tlmc_writer_init(&e->entry, &e->statements);
    e->entry.indent = 1;
    e->uses.count = 0;
}

/* Writes "signature {", the first lines, the pointers, the statements collected since
   begin_function, "return TLM_OK; }". */
static void end_function(struct tlmc_emit *e, struct tlmc_emit_form *form, const char *signature,
                         const char *first)
{
    struct tlmc_writer out;
    bool needs_model = false;

    tlmc_writer_end(&e->entry);
    tlmc_writer_init(&out, &e->entries_text);
    tlmc_write(&out, "%{signature}\n{\n", "signature", signature);
    out.indent = 1;
    tlmc_write_text(&out, first);
    for (unsigned i = 0; i < e->uses.count; i++) {
        const uint32_t value = e->uses.items[i].value;
        const enum tlmc_place place = tlmc_emit_placement(form, value)->place;
        const bool fixed = place == TLMC_PLACE_LITERAL || place == TLMC_PLACE_TABLE;
        char type[256];

        needs_model |= !fixed;
        tlmc_type_text(tlmc_value_type(form->graph, value), type);
        tlmc_write(&out, "%{const}%{ctype} *const %{name} = %{address}; /* %{type} */\n", "const",
                   e->uses.items[i].written && !fixed ? "" : "const ", "ctype",
                   tlmc_dtype_ctype(tlmc_value_type(form->graph, value)->dtype), "name",
                   tlmc_emit_local(e, form, value), "address", tlmc_emit_address(e, form, value),
                   "type", type);
    }
    if (!strstr(tlmc_strbuf_text(&e->statements), "(m") &&
        !strstr(tlmc_strbuf_text(&e->statements), "m->") && !needs_model)
        tlmc_write(&out, "(void)m;\n");
    if (e->uses.count > 0)
        tlmc_write(&out, "\n");
    tlmc_writer_end(&out);
    if (e->uses.count == 0 && !strstr(tlmc_strbuf_text(&e->statements), "m->") &&
        !strstr(tlmc_strbuf_text(&e->statements), "(m)")) /* views alone: nothing to do */
        tlmc_strbuf_add(&e->entries_text, "    (void)m;\n");
    tlmc_strbuf_add(&e->entries_text, tlmc_strbuf_text(&e->statements));
    tlmc_strbuf_add(&e->entries_text, "    return TLM_OK;\n}\n\n");
}

static uint32_t active_steps(const struct tlmc_emit_form *form, enum tlmc_phase phase)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < form->plan->step_count; i++)
        count +=
            form->plan->steps[i].phase == phase && form->plan->steps[i].kind != TLMC_STEP_NOTHING;
    return count;
}

static const char *scope_of(const struct tlmc_emit_form *form, const struct tlmc_step *step)
{
    const char *scope = form->graph->nodes[step->nodes[0]].scope;

    return scope ? scope : "";
}

/* The end of the part that begins at `begin`: the last change of scope before the limit, or the
   limit. */
static uint32_t part_end(const struct tlmc_emit_form *form, enum tlmc_phase phase, uint32_t begin)
{
    uint32_t active = 0, change = 0, i;

    for (i = begin; i < form->plan->step_count && active < STEPS_A_FUNCTION; i++) {
        const struct tlmc_step *step = &form->plan->steps[i];

        if (step->phase != phase)
            continue;
        if (active > STEPS_A_FUNCTION / 4 &&
            strcmp(scope_of(form, step), scope_of(form, step - 1)) != 0)
            change = i;
        active += step->kind != TLMC_STEP_NOTHING;
    }
    return i == form->plan->step_count || change == 0 ? i : change;
}

static void emit_steps(struct tlmc_emit *e, struct tlmc_emit_form *form, enum tlmc_phase phase,
                       uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++)
        if (form->plan->steps[i].phase == phase)
            emit_step(e, form, &form->plan->steps[i]);
}

/* Static functions for a long phase; returns their names. */
static const char **emit_parts(struct tlmc_emit *e, struct tlmc_emit_form *form,
                               enum tlmc_phase phase, const char *base, uint32_t *count)
{
    TLMC_VEC(const char *) parts = { 0 };

    for (uint32_t begin = 0; begin < form->plan->step_count;) {
        const uint32_t end = part_end(form, phase, begin);
        const char *name =
            tlmc_names_make(&e->names, tlmc_emit_printf(e, "part_%s_%u", base, parts.count + 1));
        const struct tlmc_step *first = NULL;

        begin_function(e);
        emit_steps(e, form, phase, begin, end);
        for (uint32_t i = begin; i < end && !first; i++)
            if (form->plan->steps[i].phase == phase)
                first = &form->plan->steps[i];
        if (first) {
            tlmc_strbuf_printf(&e->entries_text, "/* Part %u of %s, from %s on. */\n",
                               parts.count + 1, base,
                               *scope_of(form, first) ? scope_of(form, first) : "the top level");
            end_function(e, form,
                         tlmc_emit_printf(e, "static tlm_status %s(%s *m)", name, e->model), "");
            TLMC_PUSH(e->arena, &parts, name);
        } else {
            tlmc_writer_end(&e->entry);
        }
        begin = end;
    }
    *count = parts.count;
    return parts.items;
}

struct phase { /* one public function */
    enum tlmc_phase phase;
    const char *name, *comment, *before, *after; /* its first and last statements */
};

/* The steps, in parts when they are many. */
static void emit_all_steps(struct tlmc_emit *e, struct tlmc_emit_form *form, enum tlmc_phase phase,
                           const char **parts, uint32_t part_count)
{
    if (parts)
        for (uint32_t i = 0; i < part_count; i++)
            tlmc_write(&e->entry, "TLM_TRY(%{part}(m));\n", "part", parts[i]);
    else
        emit_steps(e, form, phase, 0, form->plan->step_count);
}

static bool writes_leaves(const struct tlmc_emit_form *form, enum tlmc_phase phase)
{
    for (uint32_t i = 0; i < form->plan->step_count; i++) {
        const struct tlmc_step *step = &form->plan->steps[i];

        if (step->phase == phase &&
            tlmc_op_info(form->graph->nodes[step->nodes[0]].op)->family == TLMC_UPDATE)
            return true;
    }
    return false;
}

/* CUDA: the public function that has an enqueue function run, directly or as a captured graph. */
static void put_cuda_run(struct tlmc_emit *e, const struct phase *p, const char *of, bool scalars,
                         bool writes, const char *enqueue)
{
    struct tlmc_writer out;

    tlmc_writer_init(&out, &e->entries_text);
    tlmc_write_comment(&out, p->comment);
    tlmc_write(&out, "tlm_status %{name}(%{model} *m)\n{\n", "name", p->name, "model", e->model);
    out.indent = 1;
    tlmc_write_text(&out, p->before);
    tlmc_write(&out,
               "TLM_TRY(tlm_cuda_run(&m->cuda, &m->rt, %{phase}, %{form}, %{scalars}, %{enqueue}, "
               "m));\n",
               "phase", tlmc_cuda_phase(e, p->name + strlen(e->model) + 1), "form", of, "scalars",
               scalars ? "m->scalars" : "NULL", "enqueue", enqueue);
    if (writes)
        tlmc_write(&out, "tlm_cuda_touched(&m->cuda);\n");
    tlmc_write_text(&out, p->after);
    tlmc_write(&out, "return TLM_OK;\n");
    out.indent = 0;
    tlmc_write(&out, "}\n\n");
    tlmc_writer_end(&out);
}

static const char *enqueue_name(struct tlmc_emit *e, const struct phase *p)
{
    return tlmc_names_make(&e->names,
                           tlmc_emit_printf(e, "enqueue_%s", p->name + strlen(e->model) + 1));
}

/* CUDA: a function that puts the phase on the stream, whose name is returned, and the public one
   that has it run.  A forward pass brings its inputs and fetches its results, an update brings the
   step's scalars. */
static const char *emit_cuda_phase(struct tlmc_emit *e, struct tlmc_emit_form *form,
                                   const struct phase *p, const char **parts, uint32_t part_count)
{
    const bool forward = p->phase == TLMC_FORWARD;
    const bool scalars = p->phase == TLMC_UPDATE_PHASE && e->module->scalars.count > 0;
    const char *of = forward ? tlmc_cuda_form(e, form) : "TLM_CUDA_NO_FORM";
    const char *enqueue = enqueue_name(e, p);

    begin_function(e);
    if (forward || scalars)
        tlmc_write(&e->entry, "TLM_TRY(tlm_cuda_upload(&m->cuda, &m->rt, %{form}));\n", "form", of);
    emit_all_steps(e, form, p->phase, parts, part_count);
    if (forward)
        tlmc_write(&e->entry, "TLM_TRY(tlm_cuda_download(&m->cuda, &m->rt, %{form}));\n", "form",
                   of);
    tlmc_strbuf_printf(&e->entries_text, "/* Puts the launches of %s on the stream. */\n", p->name);
    end_function(e, form, tlmc_emit_printf(e, "static tlm_status %s(void *model)", enqueue),
                 tlmc_emit_printf(e, "struct %s *const m = (struct %s *)model;\n", e->model,
                                  e->model));
    put_cuda_run(e, p, of, scalars, writes_leaves(form, p->phase), enqueue);
    return enqueue;
}

/* Returns the enqueue function on CUDA, else the public one. */
static const char *emit_phase(struct tlmc_emit *e, struct tlmc_emit_form *form,
                              const struct phase *p)
{
    const char **parts = NULL;
    uint32_t part_count = 0;
    struct tlmc_writer out;

    if (active_steps(form, p->phase) > STEPS_A_FUNCTION)
        parts = emit_parts(e, form, p->phase, p->name + strlen(e->model) + 1, &part_count);
    if (e->cuda)
        return emit_cuda_phase(e, form, p, parts, part_count);
    begin_function(e);
    tlmc_write_text(&e->entry, p->before);
    emit_all_steps(e, form, p->phase, parts, part_count);
    tlmc_write_text(&e->entry, p->after);
    tlmc_writer_init(&out, &e->entries_text);
    tlmc_write_comment(&out, p->comment);
    tlmc_writer_end(&out);
    end_function(e, form, tlmc_emit_printf(e, "tlm_status %s(%s *m)", p->name, e->model), "");
    return p->name;
}

/* "if (m->done != DONE_FORWARD) ...": the call that must have come just before. */
static const char *order_check(struct tlmc_emit *e, const char *prefix, const char *call,
                               const char *needs, const char *done)
{
    return tlmc_emit_printf(e,
                            "if (m->done != %s)\n"
                            "    return tlm_order_error(&m->rt, \"%s_%s needs %s_%s "
                            "just before it\");\n",
                            done, prefix, call, prefix, needs);
}

/* "m->runs[FORM_TRAIN]++": after a run that drew; "" after others. */
static const char *next_run_text(struct tlmc_emit *e, const struct tlmc_emit_form *form)
{
    return form->draws ? tlmc_emit_printf(e, "m->runs[FORM_%s]++; /* the next run draws anew */\n",
                                          tlmc_names_upper(e->arena, form->label))
                       : "";
}

/* What the update phase does. */
static const char *update_comment(struct tlmc_emit *e, bool accumulates)
{
    const enum tlmc_clip clip = e->module->train.clip;

    return tlmc_emit_printf(e, "%s from %s and the step's scalars%s.",
                            clip == TLMC_CLIP_NONE ? "Updates the parameters"
                                                   : "Clips, and updates the parameters",
                            accumulates ? "the sums of their gradients" : "their gradients",
                            accumulates ? "; clears the sums" : "");
}

/* The calls of one batch as one: forward, backward and the last, which makes the step unless
   several batches do.  On CUDA one graph. */
static void emit_batch(struct tlmc_emit *e, struct tlmc_emit_form *form,
                       const struct phase *forward, bool accumulates, const char *const calls[3])
{
    const struct phase batch = { .name = tlmc_emit_printf(e, "%s_%s_batch", e->model, form->label),
                                 .comment = accumulates
                                                ? "Forward, backward and accumulate in one call."
                                                : "Forward, backward and step in one call.",
                                 .before = forward->before,
                                 .after = tlmc_emit_printf(e, "%s%s", next_run_text(e, form),
                                                           accumulates ? "" : "m->rt.step++;\n") };
    const char *enqueue = e->cuda ? enqueue_name(e, &batch) : NULL;
    struct tlmc_writer out;

    tlmc_writer_init(&out, &e->entries_text);
    if (e->cuda)
        tlmc_write(&out,
                   "/* Puts the launches of %{name} on the stream. */\n"
                   "static tlm_status %{enqueue}(void *m)\n",
                   "name", batch.name, "enqueue", enqueue);
    else
        tlmc_write(&out, "/* %{comment} */\ntlm_status %{name}(%{model} *m)\n", "comment",
                   batch.comment, "name", batch.name, "model", e->model);
    tlmc_write(&out,
               "{\n"
               "    TLM_TRY(%{forward}(m));\n"
               "    TLM_TRY(%{backward}(m));\n"
               "    return %{last}(m);\n"
               "}\n\n",
               "forward", calls[0], "backward", calls[1], "last", calls[2]);
    tlmc_writer_end(&out);
    if (e->cuda)
        put_cuda_run(e, &batch, tlmc_cuda_form(e, form),
                     !accumulates && e->module->scalars.count > 0, true, enqueue);
}

/* `enqueued`: what runs the forward pass. */
static void emit_training(struct tlmc_emit *e, struct tlmc_emit_form *form,
                          const struct phase *forward, const char *enqueued)
{
    const char *calls[3] = { enqueued, NULL, NULL }, *update;
    const char *prefix = tlmc_emit_printf(e, "%s_%s", e->model, form->label);
    const bool accumulates = tlmc_emit_has_phase(form, TLMC_ACCUMULATE_PHASE);
    const struct phase backward = {
        TLMC_BACKWARD, tlmc_emit_printf(e, "%s_backward", prefix),
        "The gradients of the last forward pass; overwrites the ones before.",
        order_check(e, prefix, "backward", "forward", "DONE_FORWARD"), "m->done = DONE_BACKWARD;\n"
    };
    const struct phase accumulate = {
        TLMC_ACCUMULATE_PHASE, tlmc_emit_printf(e, "%s_accumulate", prefix),
        "Adds the gradients of a micro-batch to their sums.",
        order_check(e, prefix, "accumulate", "backward", "DONE_BACKWARD"),
        "m->done = DONE_NOTHING;\n"
    };
    const struct phase step = {
        TLMC_UPDATE_PHASE, tlmc_emit_printf(e, "%s_step", prefix), update_comment(e, accumulates),
        accumulates ? "" : order_check(e, prefix, "step", "backward", "DONE_BACKWARD"),
        "m->done = DONE_NOTHING;\n"
        "m->rt.step++;\n"
    };

    calls[1] = emit_phase(e, form, &backward);
    if (accumulates)
        calls[2] = emit_phase(e, form, &accumulate);
    update = emit_phase(e, form, &step);
    if (!accumulates)
        calls[2] = update;
    emit_batch(e, form, forward, accumulates, calls);
}

/* Only a model that trains keeps what was done last. */
static bool any_trains(const struct tlmc_emit *e)
{
    for (uint32_t f = 0; f < e->form_count; f++)
        if (e->forms[f].form->mode == TLMC_TRAIN)
            return true;
    return false;
}

void tlmc_emit_form_functions(struct tlmc_emit *e, struct tlmc_emit_form *form)
{
    const bool trains = form->form->mode == TLMC_TRAIN;
    const char *before = any_trains(e) ? "m->done = DONE_NOTHING;\n" : "",
               *after = trains ? "m->done = DONE_FORWARD;\n" : "";
    const char *comment = trains ? "Outputs, losses and what the backward pass needs of them."
                          : form->form->mode == TLMC_EVAL
                              ? "Outputs, losses and metrics, without training."
                              : "Outputs from inputs.";

    if (form->draws) {
        before = tlmc_emit_printf(e, "%sm->rt.run = m->runs[FORM_%s];\n", before,
                                  tlmc_names_upper(e->arena, form->label));
        after = tlmc_emit_printf(e, "%s%s", next_run_text(e, form), after);
    }
    const struct phase forward = { TLMC_FORWARD, form->run, comment, before, after };
    const char *enqueued = emit_phase(e, form, &forward);

    if (trains)
        emit_training(e, form, &forward, enqueued);
}
