/* Entry points: one function for each phase of a form, one statement a plan step, read from top to
   bottom.  Before a step stands what it is: nodes, place in the source, capsules and their trust,
   values with their shapes.  A function begins with the pointers it uses.  More than
   STEPS_A_FUNCTION steps are cut into parts at changes of scope. */
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

const char *tlmc_emit_use(struct tlmc_emit *e, struct tlmc_emit_form *form, uint32_t value,
                          bool written)
{
    for (unsigned i = 0; i < e->uses.count; i++)
        if (e->uses.items[i].value == value) {
            e->uses.items[i].written |= written;
            return tlmc_emit_local(e, form, value);
        }
    TLMC_PUSH(e->arena, &e->uses, ((struct tlmc_emit_use){ value, written }));
    return tlmc_emit_local(e, form, value);
}

/* ---- comments */

static const char *node_range(struct tlmc_emit *e, const struct tlmc_step *step)
{
    if (step->node_count == 1)
        return tlmc_emit_printf(e, "n%u", step->nodes[0]);
    return tlmc_emit_printf(e, "n%u..n%u", step->nodes[0], step->nodes[step->node_count - 1]);
}

static void append(struct tlmc_strbuf *out, const char *separator, const char *text)
{
    if (strstr(tlmc_strbuf_text(out), text) != NULL && strcmp(separator, "; ") == 0)
        return; /* each capsule once */
    tlmc_strbuf_printf(out, "%s%s", out->length ? separator : "", text);
}

static bool made_here(const struct tlmc_emit_form *form, const struct tlmc_step *step,
                      uint32_t value)
{
    for (uint32_t n = 0; n < step->node_count; n++)
        if (form->graph->values[value].node == step->nodes[n])
            return true;
    return false;
}

/* The values a step reads from outside and writes: "x: f32[1, 2], fc1.weight: f32[8, 2] -> h:
 * f32[1, 8]". */
static void step_values(struct tlmc_emit *e, const struct tlmc_emit_form *form,
                        const struct tlmc_step *step, struct tlmc_strbuf *out)
{
    struct tlmc_strbuf reads = { 0 }, writes = { 0 };

    if (step->kind == TLMC_STEP_UPDATES) { /* the leaves that are written */
        for (uint32_t n = 0; n < step->node_count && n < 8; n++)
            append(&writes, ", ",
                   tlmc_emit_value_text(e, form, form->graph->nodes[step->nodes[n]].inputs[0]));
        tlmc_strbuf_printf(out, "\n%s%s", tlmc_strbuf_text(&writes),
                           step->node_count > 8 ? ", ..." : "");
        tlmc_strbuf_free(&writes);
        return;
    }
    for (uint32_t n = 0; n < step->node_count && step->node_count <= 8; n++) {
        const struct tlmc_node *node = &form->graph->nodes[step->nodes[n]];

        for (uint32_t i = 0; i < node->input_count; i++) {
            const uint32_t value = node->inputs[i];

            if (value != TLMC_NONE && form->plan->values[value].place != TLMC_PLACE_NONE &&
                !made_here(form, step, value))
                append(&reads, ", ", tlmc_emit_value_text(e, form, value));
        }
        for (uint32_t i = 0; i < node->result_count; i++)
            if (form->plan->values[node->first_result + i].place != TLMC_PLACE_NONE)
                append(&writes, ", ", tlmc_emit_value_text(e, form, node->first_result + i));
    }
    if (reads.length || writes.length)
        tlmc_strbuf_printf(out, "\n%s%s%s", tlmc_strbuf_text(&reads),
                           writes.length ? reads.length ? " -> " : "-> " : "",
                           tlmc_strbuf_text(&writes));
    tlmc_strbuf_free(&reads);
    tlmc_strbuf_free(&writes);
}

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
    tlmc_strbuf_printf(&text, "%s  %s  %s%s%s", node_range(e, step), tlmc_strbuf_text(&ops),
                       tlmc_emit_place(e, first->span), first->scope && *first->scope ? " in " : "",
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

static void emit_call(struct tlmc_emit *e, struct tlmc_emit_form *form,
                      const struct tlmc_step *step)
{
    struct tlmc_call call;
    struct tlmc_handler handler;

    tlmc_call_begin(&call, e, form, step);
    TLMC_CHECK(call.capsule != NULL);
    if (call.capsule->abi == TLMC_ABI_CALL) {
        for (uint32_t n = 0; n < step->node_count; n++) { /* several: updates */
            call.node = &form->graph->nodes[step->nodes[n]];
            tlmc_emit_user_call(&call);
        }
    } else if (bind(e, &call, &handler)) {
        if (handler.emit)
            tlmc_emit_need_header(e,
                                  e->options->single_file ? handler.header : call.capsule->header);
        if (!handler.emit)
            tlmc_emit_pointwise(e, form, step);
        else if (step->kind == TLMC_STEP_UPDATES)
            tlmc_emit_updates(e, form, step);
        else
            handler.emit(&call);
    }
    tlmc_call_end(&call);
}

static void emit_step(struct tlmc_emit *e, struct tlmc_emit_form *form,
                      const struct tlmc_step *step)
{
    step_comment(e, form, step);
    switch (step->kind) {
    case TLMC_STEP_NOTHING: break;
    case TLMC_STEP_CALL:
    case TLMC_STEP_UPDATES: emit_call(e, form, step); break;
    case TLMC_STEP_POINTWISE: tlmc_emit_pointwise(e, form, step); break;
    }
}

/* ---- functions */

static void begin_function(struct tlmc_emit *e)
{
    tlmc_strbuf_clear(&e->statements);
    tlmc_writer_init(&e->entry, &e->statements);
    e->entry.indent = 1;
    e->uses.count = 0;
}

/* Writes "signature {", the pointers, the statements collected since begin_function, "return
 * TLM_OK; }". */
static void end_function(struct tlmc_emit *e, struct tlmc_emit_form *form, const char *signature)
{
    struct tlmc_writer out;
    bool needs_model = false;

    tlmc_writer_end(&e->entry);
    tlmc_writer_init(&out, &e->entries_text);
    tlmc_write(&out, "%{signature}\n{\n", "signature", signature);
    out.indent = 1;
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
                         tlmc_emit_printf(e, "static tlm_status %s(%s *m)", name, e->model));
            TLMC_PUSH(e->arena, &parts, name);
        } else {
            tlmc_writer_end(&e->entry);
        }
        begin = end;
    }
    *count = parts.count;
    return parts.items;
}

/* One public function that runs a phase; `before` and `after` are its first and last statements. */
static void emit_phase(struct tlmc_emit *e, struct tlmc_emit_form *form, enum tlmc_phase phase,
                       const char *name, const char *comment, const char *before, const char *after)
{
    const char *base = name + strlen(e->model) + 1;
    const char **parts = NULL;
    uint32_t part_count = 0;

    if (active_steps(form, phase) > STEPS_A_FUNCTION)
        parts = emit_parts(e, form, phase, base, &part_count);
    begin_function(e);
    tlmc_write_text(&e->entry, before);
    if (parts)
        for (uint32_t i = 0; i < part_count; i++)
            tlmc_write(&e->entry, "TLM_TRY(%{part}(m));\n", "part", parts[i]);
    else
        emit_steps(e, form, phase, 0, form->plan->step_count);
    tlmc_write_text(&e->entry, after);
    tlmc_strbuf_printf(&e->entries_text, "/* %s */\n", comment);
    end_function(e, form, tlmc_emit_printf(e, "tlm_status %s(%s *m)", name, e->model));
}

static void emit_training(struct tlmc_emit *e, struct tlmc_emit_form *form)
{
    const char *prefix = tlmc_emit_printf(e, "%s_%s", e->model, form->label);
    const bool accumulates = tlmc_emit_has_phase(form, TLMC_ACCUMULATE_PHASE);

    emit_phase(e, form, TLMC_BACKWARD, tlmc_emit_printf(e, "%s_backward", prefix),
               "The gradients of the last forward pass; overwrites the ones before.",
               tlmc_emit_printf(e,
                                "if (m->done != DONE_FORWARD)\n"
                                "    return tlm_order_error(&m->rt, \"%s_backward needs %s_forward "
                                "just before it\");\n",
                                prefix, prefix),
               "m->done = DONE_BACKWARD;\n");
    if (accumulates)
        emit_phase(e, form, TLMC_ACCUMULATE_PHASE, tlmc_emit_printf(e, "%s_accumulate", prefix),
                   "Adds the gradients of a micro-batch to their sums.",
                   tlmc_emit_printf(e,
                                    "if (m->done != DONE_BACKWARD)\n"
                                    "    return tlm_order_error(&m->rt, \"%s_accumulate needs "
                                    "%s_backward just before it\");\n",
                                    prefix, prefix),
                   "m->done = DONE_NOTHING;\n");
    emit_phase(e, form, TLMC_UPDATE_PHASE, tlmc_emit_printf(e, "%s_step", prefix),
               "Clips and updates the parameters from their gradients and the step's scalars.",
               accumulates ? ""
                           : tlmc_emit_printf(e,
                                              "if (m->done != DONE_BACKWARD)\n"
                                              "    return tlm_order_error(&m->rt, \"%s_step needs "
                                              "%s_backward just before it\");\n",
                                              prefix, prefix),
               "m->done = DONE_NOTHING;\n"
               "m->rt.step++;\n");
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
        after = tlmc_emit_printf(e, "m->runs[FORM_%s]++; /* the next run draws anew */\n%s",
                                 tlmc_names_upper(e->arena, form->label), after);
    }
    emit_phase(e, form, TLMC_FORWARD, form->run, comment, before, after);
    if (trains)
        emit_training(e, form);
}
