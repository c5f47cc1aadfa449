/* The plan as JSON, for tools and as the manifest of an emitted program.  Keys stand in a fixed
   order; no time, path or host is in it. */
#include "plan_report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* jansson fails only without memory, or on text that is not UTF-8: such text is shown escaped. */
static json_t *text_of(const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    struct tlmc_strbuf plain = { 0 };

    if (value)
        return value;
    for (; *text; text++)
        if ((unsigned char)*text < 0x80)
            tlmc_strbuf_char(&plain, *text);
        else
            tlmc_strbuf_printf(&plain, "\\x%02x", (unsigned char)*text);
    value = json_string(tlmc_strbuf_text(&plain));
    tlmc_strbuf_free(&plain);
    return value;
}

static void set(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        tlmc_out_of_memory();
}

static void push(json_t *array, json_t *value)
{
    if (!value || json_array_append_new(array, value) != 0)
        tlmc_out_of_memory();
}

static json_t *size_of(size_t bytes)
{
    return json_integer((json_int_t)bytes);
}

static json_t *type_json(const struct tlmc_type *type)
{
    json_t *object = json_object(), *dims = json_array();
    int i;

    for (i = 0; i < type->rank; i++)
        push(dims, json_integer(type->dims[i]));
    set(object, "dtype", text_of(tlmc_dtype_name(type->dtype)));
    set(object, "dims", dims);
    return object;
}

static json_t *capsule_json(const struct tlmc_capsule *k)
{
    json_t *object = json_object(), *contracts = json_object();
    char numeric[160];
    int slot;

    set(object, "name", text_of(k->name));
    set(object, "op", text_of(tlmc_op_info(k->op)->name));
    set(object, "provider", text_of(k->provider));
    set(object, "device", text_of(tlmc_device_name(k->device)));
    set(object, "trust", text_of(tlmc_trust_name(k->trust)));
    set(object, "vjp", text_of(tlmc_vjp_mode_name(k->vjp)));
    set(object, "numeric", text_of(tlmc_numeric_text(&k->numeric, numeric)));
    set(object, "arithmetic", text_of(k->arithmetic));
    set(object, "notes", text_of(k->notes));
    set(object, "symbol", text_of(k->symbol));
    set(object, "header", text_of(k->header));
    set(object, "abi", text_of(tlmc_abi_name(k->abi)));
    set(object, "licence", text_of(k->licence));
    set(object, "status", text_of(k->status == TLMC_PLANNED ? "planned" : "available"));
    set(object, "module", text_of(k->module));
    for (slot = 0; slot < TLMC_SLOT_COUNT; slot++) {
        json_t *contract = json_object();

        set(contract, "claim", text_of(k->contracts[slot].claim));
        set(contract, "evidence", text_of(tlmc_evidence_disposition(k->contracts[slot].evidence)));
        set(contract, "by", text_of(k->contracts[slot].name));
        set(contracts, tlmc_slot_name((enum tlmc_slot)slot), contract);
    }
    set(object, "contracts", contracts);
    return object;
}

static json_t *refusals_json(const struct tlmc_refusal *r)
{
    json_t *array = json_array();

    for (; r->capsule; r++) {
        json_t *object = json_object();

        set(object, "capsule", text_of(r->capsule->name));
        set(object, "reason", text_of(r->text));
        push(array, object);
    }
    return array;
}

static json_t *node_json(const struct tlmc_plan *plan, const struct tlmc_plan_form *form,
                         uint32_t node)
{
    const struct tlmc_node *n = &form->form->graph->nodes[node];
    json_t *object = json_object(), *inputs = json_array(), *results = json_array();
    uint32_t i;

    set(object, "id", json_integer(node));
    set(object, "op", text_of(tlmc_op_info(n->op)->name));
    set(object, "phase", text_of(tlmc_phase_name(n->phase)));
    if (n->span.file && plan->module->sources) {
        const struct tlmc_line_place place = tlmc_span_place(plan->module->sources, n->span);

        set(object, "line", json_integer(place.line));
        set(object, "column", json_integer(place.column));
    }
    set(object, "capsule", form->choice[node] ? text_of(form->choice[node]->name) : json_null());
    for (i = 0; i < n->input_count; i++)
        push(inputs, n->inputs[i] == TLMC_NONE ? json_null() : json_integer(n->inputs[i]));
    for (i = 0; i < n->result_count; i++)
        push(results, json_integer(n->first_result + i));
    set(object, "inputs", inputs);
    set(object, "results", results);
    if (form->refusals[node]->capsule)
        set(object, "refused", refusals_json(form->refusals[node]));
    return object;
}

static json_t *value_json(const struct tlmc_plan_form *form, uint32_t value)
{
    const struct tlmc_graph *graph = form->form->graph;
    const struct tlmc_placement *v = &form->values[value];
    json_t *object = json_object();
    char name[160];

    set(object, "id", json_integer(value));
    set(object, "name", text_of(tlmc_report_value(graph, value, name)));
    set(object, "type", type_json(tlmc_value_type(graph, value)));
    set(object, "place", text_of(tlmc_place_name(v->place)));
    if (v->place == TLMC_PLACE_ARENA || v->place == TLMC_PLACE_WEIGHTS ||
        v->place == TLMC_PLACE_STATE)
        set(object, "offset", size_of(v->offset));
    if (v->storage != value)
        set(object, "storage", json_integer(v->storage));
    set(object, "bytes", size_of(v->bytes));
    if (v->place == TLMC_PLACE_ARENA) {
        set(object, "first_step", json_integer(v->first_step));
        set(object, "last_step", json_integer(v->last_step));
    }
    return object;
}

static json_t *step_json(const struct tlmc_step *step)
{
    json_t *object = json_object(), *nodes = json_array();
    uint32_t i;

    set(object, "kind", text_of(tlmc_step_kind_name(step->kind)));
    set(object, "phase", text_of(tlmc_phase_name(step->phase)));
    for (i = 0; i < step->node_count; i++)
        push(nodes, json_integer(step->nodes[i]));
    set(object, "nodes", nodes);
    if (step->kind_count > 1) {
        json_t *kinds = json_array();

        for (i = 0; i < step->kind_count; i++)
            push(kinds, json_integer(step->kinds[i]));
        set(object, "kinds", kinds);
    }
    if (step->note)
        set(object, "note", text_of(step->note));
    if (step->transpose_a)
        set(object, "transpose_a", json_true());
    if (step->transpose_b)
        set(object, "transpose_b", json_true());
    if (step->workspace_bytes) {
        set(object, "workspace_bytes", size_of(step->workspace_bytes));
        set(object, "workspace_offset", size_of(step->workspace_offset));
    }
    return object;
}

static json_t *form_json(const struct tlmc_plan *plan, const struct tlmc_plan_form *form)
{
    const struct tlmc_graph *graph = form->form->graph;
    json_t *object = json_object(), *nodes = json_array(), *values = json_array(),
           *steps = json_array();
    uint32_t i;

    set(object, "entry", text_of(form->form->entry));
    set(object, "mode", text_of(tlmc_mode_name(form->form->mode)));
    set(object, "arena_bytes", size_of(form->arena_bytes));
    set(object, "lower_bound", size_of(form->lower_bound));
    for (i = 0; i < graph->node_count; i++)
        push(nodes, node_json(plan, form, i));
    for (i = 0; i < graph->value_count; i++)
        push(values, value_json(form, i));
    for (i = 0; i < form->step_count; i++)
        push(steps, step_json(&form->steps[i]));
    set(object, "steps", steps);
    set(object, "nodes", nodes);
    set(object, "values", values);
    return object;
}

/* Capsules that the plan uses, in catalog order. */
static json_t *capsules_json(const struct tlmc_plan *plan)
{
    const struct tlmc_catalog *catalog = plan->catalog;
    bool *used = TLMC_NEW_ARRAY(plan->module->arena, bool, catalog->capsules.count);
    json_t *array = json_array();
    uint32_t f, n;
    unsigned i;

    for (f = 0; f < plan->form_count; f++)
        for (n = 0; n < plan->forms[f].form->graph->node_count; n++)
            if (plan->forms[f].choice[n])
                used[plan->forms[f].choice[n] - catalog->capsules.items] = true;
    for (i = 0; i < catalog->capsules.count; i++)
        if (used[i])
            push(array, capsule_json(&catalog->capsules.items[i]));
    return array;
}

static json_t *failures_json(const struct tlmc_plan *plan)
{
    json_t *array = json_array();
    uint32_t i;

    for (i = 0; i < plan->failure_count; i++) {
        const struct tlmc_failure *f = &plan->failures[i];
        json_t *object = json_object();

        if (f->form)
            set(object, "op", text_of(tlmc_op_info(f->form->form->graph->nodes[f->node].op)->name));
        if (f->capsule)
            set(object, "capsule", text_of(f->capsule->name));
        set(object, "reason", text_of(f->text));
        push(array, object);
    }
    return array;
}

static json_t *params_json(const struct tlmc_plan *plan)
{
    json_t *array = json_array();
    unsigned i;

    for (i = 0; i < plan->module->params.count; i++) {
        const struct tlmc_param *param = &plan->module->params.items[i];
        const bool weights = param->kind == TLMC_PARAM_TRAINED || param->kind == TLMC_PARAM_STATE;
        json_t *object = json_object();

        set(object, "key", text_of(param->key));
        set(object, "type", type_json(&param->type));
        set(object, "block", text_of(weights ? "weights" : "state"));
        set(object, "offset", size_of(plan->param_offsets[i]));
        push(array, object);
    }
    return array;
}

void tlmc_plan_json(const struct tlmc_plan *plan, struct tlmc_strbuf *out)
{
    json_t *object = json_object(), *forms = json_array();
    char *text;
    uint32_t i;

    set(object, "plan", text_of(plan->module->name));
    set(object, "profile", text_of(plan->profile->name));
    set(object, "device", text_of(tlmc_device_name(plan->profile->device)));
    set(object, "assurance", text_of(tlmc_assurance_name(&plan->profile->assurance)));
    set(object, "vjp", text_of(tlmc_vjp_mode_name(plan->profile->vjp)));
    set(object, "deterministic", json_boolean(plan->deterministic));
    set(object, "weights_bytes", size_of(plan->weights_bytes));
    set(object, "state_bytes", size_of(plan->state_bytes));
    set(object, "activations_bytes", size_of(plan->activations_bytes));
    set(object, "failures", failures_json(plan));
    set(object, "capsules", capsules_json(plan));
    set(object, "params", params_json(plan));
    for (i = 0; i < plan->form_count; i++)
        push(forms, form_json(plan, &plan->forms[i]));
    set(object, "forms", forms);
    text = json_dumps(object, JSON_INDENT(1) | JSON_ENSURE_ASCII);
    if (!text)
        tlmc_out_of_memory();
    tlmc_strbuf_add(out, text);
    tlmc_strbuf_char(out, '\n');
    free(text);
    json_decref(object);
}
