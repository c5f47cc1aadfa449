/* `--steps`: the plan of a form, one step a line:

       s3 n7 matmul  8:6  native_c.matmul checked  x[4,64]@0, fc1.weight[128,64] transpose_b ->
   h[4,128]@1024  ws=0 s4 n8..n9 pointwise(broadcast,add)  ...

   Places: @N an offset in the arena, weights@N and state@N in those blocks, `number` and `table`
   constants.  Refusals stand below with --explain. */
#include "plan_report.h"

#include <stdio.h>
#include <string.h>

const char *tlmc_phase_name(enum tlmc_phase phase)
{
    static const char *const names[] = { [TLMC_FORWARD] = "forward",
                                         [TLMC_BACKWARD] = "backward",
                                         [TLMC_ACCUMULATE_PHASE] = "accumulate",
                                         [TLMC_UPDATE_PHASE] = "update" };

    return names[phase];
}

const char *tlmc_step_kind_name(enum tlmc_step_kind kind)
{
    static const char *const names[] = { [TLMC_STEP_NOTHING] = "nothing",
                                         [TLMC_STEP_CALL] = "call",
                                         [TLMC_STEP_POINTWISE] = "pointwise",
                                         [TLMC_STEP_UPDATES] = "updates" };

    return names[kind];
}

uint32_t tlmc_step_last(const struct tlmc_step *step)
{
    uint32_t last = step->nodes[0], i;

    for (i = 1; i < step->node_count; i++)
        if (step->nodes[i] > last)
            last = step->nodes[i];
    return last;
}

const char *tlmc_place_name(enum tlmc_place place)
{
    static const char *const names[] = {
        [TLMC_PLACE_NONE] = "none",   [TLMC_PLACE_LITERAL] = "number",
        [TLMC_PLACE_TABLE] = "table", [TLMC_PLACE_WEIGHTS] = "weights",
        [TLMC_PLACE_STATE] = "state", [TLMC_PLACE_SCALAR] = "scalar",
        [TLMC_PLACE_ARENA] = "arena"
    };

    return names[place];
}

const char *tlmc_report_value(const struct tlmc_graph *graph, uint32_t value, char *buf)
{
    const struct tlmc_value *v = &graph->values[value];

    if (v->name)
        snprintf(buf, 160, "%s%.140s", v->is_gradient ? "grad of " : "", v->name);
    else
        snprintf(buf, 160, "%%%u", value);
    return buf;
}

static void print_value(const struct tlmc_plan_form *form, uint32_t value, struct tlmc_strbuf *out)
{
    const struct tlmc_graph *graph = form->form->graph;
    const struct tlmc_placement *v = &form->values[value];
    const struct tlmc_type *type = tlmc_value_type(graph, value);
    char name[160];
    int i;

    tlmc_strbuf_add(out, tlmc_report_value(graph, value, name));
    tlmc_strbuf_char(out, '[');
    for (i = 0; i < type->rank; i++)
        tlmc_strbuf_printf(out, "%s%lld", i ? "," : "", (long long)type->dims[i]);
    tlmc_strbuf_char(out, ']');
    switch (v->place) {
    case TLMC_PLACE_NONE: return;
    case TLMC_PLACE_LITERAL:
    case TLMC_PLACE_TABLE:
    case TLMC_PLACE_SCALAR: tlmc_strbuf_printf(out, " %s", tlmc_place_name(v->place)); return;
    case TLMC_PLACE_WEIGHTS:
    case TLMC_PLACE_STATE:
        tlmc_strbuf_printf(out, " %s@%zu", tlmc_place_name(v->place), v->offset);
        return;
    case TLMC_PLACE_ARENA: tlmc_strbuf_printf(out, "@%zu", v->offset); return;
    }
    TLMC_UNREACHABLE();
}

static bool is_inside(const struct tlmc_step *step, const struct tlmc_graph *graph, uint32_t value)
{
    uint32_t i;

    for (i = 0; i < step->node_count; i++)
        if (step->nodes[i] == graph->values[value].node)
            return true;
    return false;
}

/* What the step reads from outside, each once. */
static void print_operands(const struct tlmc_plan_form *form, const struct tlmc_step *step,
                           struct tlmc_strbuf *out)
{
    enum { MOST = 16 }; /* longer lists end in "..." */
    const struct tlmc_graph *graph = form->form->graph;
    uint32_t seen[MOST], count = 0, i, k, m;

    for (i = 0; i < step->node_count; i++)
        for (k = 0; k < graph->nodes[step->nodes[i]].input_count; k++) {
            const bool folded = k < 2 && step->operands[k] != TLMC_NONE;
            const uint32_t value =
                folded ? step->operands[k] : graph->nodes[step->nodes[i]].inputs[k];

            if (value == TLMC_NONE || (step->node_count > 1 && is_inside(step, graph, value)))
                continue;
            for (m = 0; m < count && seen[m] != value; m++)
                continue;
            if (m < count && step->node_count > 1)
                continue;
            if (count == MOST) {
                tlmc_strbuf_add(out, ", ...");
                return;
            }
            seen[count++] = value;
            tlmc_strbuf_add(out, count > 1 ? ", " : " ");
            print_value(form, value, out);
            if (k == 0 && step->transpose_a)
                tlmc_strbuf_add(out, " transpose_a");
            if (k == 1 && step->transpose_b)
                tlmc_strbuf_add(out, " transpose_b");
        }
}

static void print_results(const struct tlmc_plan_form *form, const struct tlmc_step *step,
                          struct tlmc_strbuf *out)
{
    const struct tlmc_graph *graph = form->form->graph;
    unsigned count = 0;
    uint32_t i, k;

    for (i = 0; i < step->node_count; i++) {
        const struct tlmc_node *node = &graph->nodes[step->nodes[i]];

        for (k = 0; k < node->result_count; k++) {
            const uint32_t value = node->first_result + k;

            if (form->values[value].place == TLMC_PLACE_NONE && step->node_count > 1)
                continue;
            tlmc_strbuf_add(out, count++ ? ", " : " -> ");
            print_value(form, value, out);
            if (form->values[value].storage != value && step->kind != TLMC_STEP_NOTHING)
                tlmc_strbuf_add(out, " in place");
        }
    }
}

static void print_ops(const struct tlmc_graph *graph, const struct tlmc_step *step,
                      struct tlmc_strbuf *out)
{
    const char *first = tlmc_op_info(graph->nodes[step->nodes[0]].op)->name;
    uint32_t i;

    tlmc_strbuf_printf(out, "n%u", step->nodes[0]);
    if (step->node_count > 1)
        tlmc_strbuf_printf(out, "..n%u", tlmc_step_last(step));
    if (step->node_count == 1) {
        tlmc_strbuf_printf(out, " %s", first);
        return;
    }
    tlmc_strbuf_printf(out, " %s(", tlmc_step_kind_name(step->kind));
    if (step->kind == TLMC_STEP_UPDATES)
        tlmc_strbuf_printf(out, "%s, %u tensors", first, step->node_count);
    else
        for (i = 0; i < step->node_count; i++)
            tlmc_strbuf_printf(out, "%s%s", i ? "," : "",
                               tlmc_op_info(graph->nodes[step->nodes[i]].op)->name);
    if (step->kind_count > 1)
        tlmc_strbuf_printf(out, " in %u kinds", step->kind_count);
    tlmc_strbuf_char(out, ')');
}

/* Of calls that share a launch each capsule counts, of other groups the first stands for all. */
static uint32_t capsules_of(const struct tlmc_plan_form *form, const struct tlmc_step *step,
                            uint32_t *nodes)
{
    uint32_t count = 0, i, k;

    for (i = 0; i < (step->kind == TLMC_STEP_CALL ? step->node_count : 1); i++) {
        for (k = 0; k < count && form->choice[nodes[k]] != form->choice[step->nodes[i]]; k++)
            continue;
        if (k == count && count < TLMC_LAUNCH_MAX)
            nodes[count++] = step->nodes[i];
    }
    return count;
}

static void print_step(const struct tlmc_plan *plan, const struct tlmc_plan_form *form, uint32_t s,
                       const struct tlmc_report_options *options, struct tlmc_strbuf *out)
{
    const struct tlmc_graph *graph = form->form->graph;
    const struct tlmc_step *step = &form->steps[s];
    const struct tlmc_node *first = &graph->nodes[step->nodes[0]];
    uint32_t nodes[TLMC_LAUNCH_MAX], i;
    const uint32_t count = capsules_of(form, step, nodes);
    const struct tlmc_refusal *r;

    tlmc_strbuf_printf(out, "  s%u ", s);
    print_ops(graph, step, out);
    if (first->span.file && plan->module->sources) {
        const struct tlmc_line_place place = tlmc_span_place(plan->module->sources, first->span);

        tlmc_strbuf_printf(out, "  %u:%u", place.line, place.column);
    }
    for (i = 0; i < count; i++) {
        const struct tlmc_capsule *k = form->choice[nodes[i]];

        tlmc_strbuf_printf(out, "%s%s %s", i ? ", " : "  ", k ? k->name : "no capsule",
                           k ? tlmc_trust_name(k->trust) : "-");
    }
    tlmc_strbuf_char(out, ' ');
    print_operands(form, step, out);
    print_results(form, step, out);
    if (step->workspace_bytes)
        tlmc_strbuf_printf(out, "  ws=%zu@%zu", step->workspace_bytes, step->workspace_offset);
    if (step->note)
        tlmc_strbuf_printf(out, "  (%s)", step->note);
    tlmc_strbuf_char(out, '\n');
    if (!options->explain)
        return;
    for (i = 0; i < count; i++)
        for (r = form->refusals[nodes[i]]; r->capsule; r++)
            tlmc_strbuf_printf(out, "     %s refused: %s\n", r->capsule->name, r->text);
}

void tlmc_report_steps(const struct tlmc_plan *plan, const struct tlmc_plan_form *form,
                       const struct tlmc_report_options *options, struct tlmc_strbuf *out)
{
    enum tlmc_phase phase = TLMC_PHASE_COUNT;
    uint32_t s;

    tlmc_strbuf_printf(out, "steps of %s %s  arena=%zu\n", form->form->entry,
                       tlmc_mode_name(form->form->mode), form->arena_bytes);
    for (s = 0; s < form->step_count; s++) {
        if (form->steps[s].phase != phase) {
            phase = form->steps[s].phase;
            tlmc_strbuf_printf(out, " %s\n", tlmc_phase_name(phase));
        }
        print_step(plan, form, s, options, out);
    }
}
