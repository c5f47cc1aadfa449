/* The key tree: instances made by `as`, parameters and states by key, their agreement between
   forms.  The module's parameter list is filled in the order of first declaration. */
#include "sema.h"

#include <string.h>

/* ---- instances */

static struct tlmc_instance *make_instance(struct tlmc_sema *s, tlmc_sym path, tlmc_sym part)
{
    struct tlmc_instance *inst = TLMC_NEW(s->arena, struct tlmc_instance);

    inst->path = path;
    inst->part = part;
    tlmc_map_put(s->arena, &s->work->instance_map, path, s->work->instances.count);
    TLMC_PUSH(s->arena, &s->work->instances, inst);
    return inst;
}

struct tlmc_instance *tlmc_instance_root(struct tlmc_sema *s)
{
    const tlmc_sym empty = TLMC_SYM(s, "");

    return make_instance(s, empty, empty);
}

static tlmc_sym child_path(struct tlmc_sema *s, const struct tlmc_instance *inst, tlmc_sym part)
{
    struct tlmc_strbuf buf = { 0 };
    tlmc_sym path;

    tlmc_strbuf_printf(&buf, "%s%s%s", inst->path, inst->path[0] ? "." : "", part);
    path = TLMC_SYM(s, tlmc_strbuf_text(&buf));
    tlmc_strbuf_free(&buf);
    return path;
}

struct tlmc_instance *tlmc_instance_find(struct tlmc_sema *s, const struct tlmc_instance *inst,
                                         tlmc_sym part)
{
    const uint32_t at = tlmc_map_get(&s->work->instance_map, child_path(s, inst, part));

    return at == UINT32_MAX ? NULL : s->work->instances.items[at];
}

static struct tlmc_instance *child_instance(struct tlmc_sema *s, struct tlmc_instance *inst,
                                            tlmc_sym part)
{
    struct tlmc_instance *kid = tlmc_instance_find(s, inst, part);

    if (!kid) {
        kid = make_instance(s, child_path(s, inst, part), part);
        TLMC_PUSH(s->arena, &inst->kids, kid);
    }
    return kid;
}

/* One part of a path: a word, a string split at its dots, or an index. */
static struct tlmc_instance *descend(struct tlmc_sema *s, struct tlmc_frame *f,
                                     const struct tlmc_ast *n, struct tlmc_instance *inst)
{
    tlmc_sym text = n->text;
    int64_t i;
    char digits[32];

    if (n->kind != TLMC_AST_PART) {
        if (!tlmc_eval_int(s, f, n, "an index of a path", &i))
            return NULL;
        snprintf(digits, sizeof digits, "%lld", (long long)i);
        text = TLMC_SYM(s, digits);
    } else {
        text = tlmc_eval_string(s, f, n->span, text);
    }
    if (!text)
        return NULL;
    if (strlen(inst->path) + strlen(text) > TLMC_MAX_KEY) {
        tlmc_sema_error(s, f, n->span, TLMC_E_BAD_KEY, "a key longer than %d bytes", TLMC_MAX_KEY);
        return NULL;
    }
    for (const char *p = text;; p++) {
        const size_t length = strcspn(p, ".");

        inst = child_instance(s, inst, tlmc_intern_n(s->symbols, p, length));
        p += length;
        if (!*p)
            return inst;
    }
}

static bool enter_again(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *as,
                        const struct tlmc_instance *inst)
{
    struct tlmc_diag *d = tlmc_sema_error(
        s, f, as->span, TLMC_E_KEY_TWICE,
        "`%s` is made twice; write `as shared` to use the same parameters, or another name",
        inst->path);

    tlmc_sema_note(s, d, inst->made, "first made here");
    return false;
}

struct tlmc_instance *tlmc_instance_enter(struct tlmc_sema *s, struct tlmc_frame *f,
                                          const struct tlmc_ast *as, bool *shared)
{
    struct tlmc_instance *inst = f->inst;
    const bool written_shared = as->text != NULL;

    *shared = f->shared;
    for (uint32_t i = 0; i < as->kids[1]->count && inst; i++)
        inst = descend(s, f, as->kids[1]->kids[i], inst);
    if (!inst)
        return NULL;
    if (written_shared) {
        *shared = f->shared || inst->made.file; /* strict the first time */
        if (!inst->made.file) {
            inst->shared_call = as;
            inst->shared_frame = f;
        }
        inst->shared_uses++;
    } else if (inst->made.file && !f->shared && !enter_again(s, f, as, inst)) {
        return NULL;
    } else if (inst->made.file) {
        inst->shared_uses++;
    }
    if (!inst->made.file)
        inst->made = as->span;
    return inst;
}

void tlmc_warn_shared_once(struct tlmc_sema *s)
{
    for (unsigned i = 0; i < s->work->instances.count; i++) {
        const struct tlmc_instance *inst = s->work->instances.items[i];

        if (inst->shared_call && inst->shared_uses == 1)
            tlmc_sema_error(s, inst->shared_frame, inst->shared_call->span, TLMC_E_SHARED_ONCE,
                            "`%s` is shared but used once", inst->path);
    }
}

/* ---- parameters and states */

static bool is_key(const char *key)
{
    bool start = true;

    for (; *key; key++) {
        const bool word = (*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z') ||
                          (*key >= '0' && *key <= '9') || *key == '_';

        if (!word && (*key != '.' || start))
            return false;
        start = !word;
    }
    return !start;
}

static bool check_key(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                      const char *key)
{
    if (strlen(key) > TLMC_MAX_KEY || !is_key(key))
        tlmc_sema_error(s, f, n->span, TLMC_E_BAD_KEY,
                        "`%.80s` is no key: letters, digits and _, joined by dots", key);
    else if (!strncmp(key, "tlm.", 4))
        tlmc_sema_error(s, f, n->span, TLMC_E_BAD_KEY,
                        "`%s`: keys that begin with tlm. are kept for the state of a run", key);
    else
        return true;
    return false;
}

static enum tlmc_param_kind kind_of(const struct tlmc_ast *n)
{
    if (n->kind == TLMC_AST_PARAM)
        return TLMC_PARAM_TRAINED;
    return n->kids[2]->kind == TLMC_AST_TRANSIENT ? TLMC_PARAM_TRANSIENT : TLMC_PARAM_STATE;
}

static const char *kind_name(enum tlmc_param_kind kind)
{
    return kind == TLMC_PARAM_TRAINED ? "param"
           : kind == TLMC_PARAM_STATE ? "state"
                                      : "transient state";
}

/* The module's entry of a key: made, or checked against what other forms said.  TLMC_NONE after a
   report. */
static uint32_t agree(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                      const struct tlmc_param *want, bool reused)
{
    const uint32_t at = tlmc_map_get(&s->param_map, want->key);
    const struct tlmc_param *old;
    struct tlmc_diag *d;

    if (at == UINT32_MAX) {
        tlmc_map_put(s->arena, &s->param_map, want->key, s->module->params.count);
        TLMC_PUSH(s->arena, &s->module->params, *want);
        return s->module->params.count - 1;
    }
    old = &s->module->params.items[at];
    if (old->kind == want->kind && tlmc_type_equal(&old->type, &want->type) &&
        (reused || tlmc_init_equal(&old->init, &want->init, &want->type)))
        return at;
    d = tlmc_sema_error(s, f, n->span, TLMC_E_KEY_TYPE,
                        "`%s` is %s %s = %s in one entry or mode and %s %s = %s in another",
                        want->key, kind_name(old->kind), tlmc_show_type(s, &old->type),
                        old->init.text ? old->init.text : "none", kind_name(want->kind),
                        tlmc_show_type(s, &want->type), want->init.text ? want->init.text : "none");
    tlmc_sema_note(s, d, old->span, "first declared here");
    return TLMC_NONE;
}

static uint32_t make_place(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                           uint32_t param)
{
    struct tlmc_place_of_key place = { .key = s->module->params.items[param].key,
                                       .param = param,
                                       .span = n->span };
    const bool state = n->kind == TLMC_AST_STATE;

    tlmc_stamp(s, f, n);
    place.leaf = tlmc_build_leaf(s->graph, state ? TLMC_OP_STATE : TLMC_OP_PARAM, param,
                                 &s->module->params.items[param].type);
    s->graph->values[place.leaf].name = place.key;
    place.current = tlmc_val_tensor(place.leaf);
    place.current.is_state = state;
    place.current.place = s->work->places.count + 1;
    tlmc_map_put(s->arena, &s->work->place_map, place.key, s->work->places.count);
    TLMC_PUSH(s->arena, &s->work->places, place);
    return s->work->places.count - 1;
}

/* A key that this form has already: only under `as shared`, and with the same kind and type. */
static bool may_share(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                      const struct tlmc_place_of_key *place, const struct tlmc_type *type)
{
    const struct tlmc_param *old = &s->module->params.items[place->param];
    struct tlmc_diag *d;

    if (!f->shared)
        d = tlmc_sema_error(s, f, n->span, TLMC_E_KEY_TWICE,
                            "parameter `%s` is made twice; give each call a name of its own with "
                            "`as NAME`, or share with "
                            "`as shared NAME`",
                            place->key);
    else if (old->kind != kind_of(n) || !tlmc_type_equal(&old->type, type))
        d = tlmc_sema_error(s, f, n->span, TLMC_E_KEY_TYPE, "shared `%s` is %s, here %s",
                            place->key, tlmc_show_type(s, &old->type), tlmc_show_type(s, type));
    else
        return true;
    tlmc_sema_note(s, d, place->span, "first made here");
    return false;
}

static bool read_declaration(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                             struct tlmc_param *out)
{
    const bool named = n->kids[2]->kind == TLMC_AST_STR;
    struct tlmc_val init = tlmc_val_none();
    const tlmc_sym name =
        named ? tlmc_eval_string(s, f, n->kids[2]->span, n->kids[2]->text) : n->text;
    const bool typed = tlmc_eval_type(s, f, n->kids[0], &out->type);

    if (n->kids[1]->kind != TLMC_AST_ABSENT)
        init = tlmc_eval(s, f, n->kids[1]);
    if (n->kind == TLMC_AST_PARAM && n->kids[2]->kind == TLMC_AST_TRANSIENT) {
        tlmc_sema_error(s, f, n->kids[2]->span, TLMC_E_PLACEMENT, "only a state is transient");
        return false;
    }
    if (!typed || !name || init.kind == TLMC_V_POISON)
        return false;
    out->key = child_path(s, f->inst, name);
    out->kind = kind_of(n);
    out->of = TLMC_NONE;
    out->ordinal = s->module->params.count;
    out->span = f->file->library && f->user_span.file ? f->user_span : n->span;
    return check_key(s, f, n, out->key) &&
           tlmc_init_resolve(s, f, n->kids[1], &init, &out->type, &out->init);
}

void tlmc_declare_param(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    struct tlmc_param param = { 0 };
    uint32_t at, index;
    tlmc_sym member;

    if (!read_declaration(s, f, n, &param)) {
        tlmc_declare(s, f, n, tlmc_val_poison());
        return;
    }
    at = tlmc_map_get(&s->work->place_map, param.key);
    if ((at != UINT32_MAX && !may_share(s, f, n, &s->work->places.items[at], &param.type)) ||
        (index = agree(s, f, n, &param, at != UINT32_MAX)) == TLMC_NONE) {
        tlmc_declare(s, f, n, tlmc_val_poison());
        return;
    }
    if (at == UINT32_MAX) {
        at = make_place(s, f, n, index);
        member = f->inst->path[0] ? param.key + strlen(f->inst->path) + 1 : param.key;
        TLMC_PUSH(s->arena, &f->inst->members,
                  ((struct tlmc_member){ TLMC_SYM(s, member), at + 1 }));
    }
    tlmc_declare(s, f, n, s->work->places.items[at].current);
}

struct tlmc_val tlmc_place_read(const struct tlmc_sema *s, uint32_t place)
{
    struct tlmc_val v = s->work->places.items[place - 1].current;

    v.is_state = false; /* a value: later updates do not change it */
    return v;
}

void tlmc_update_state(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n)
{
    const struct tlmc_binding *b = tlmc_frame_find(f, n->text);
    struct tlmc_val v = tlmc_eval(s, f, n->kids[0]), old, value;
    struct tlmc_place_of_key *place;

    if (!b && f->is_entry)
        b = tlmc_frame_find(s->work->file_frame, n->text);
    if (v.kind == TLMC_V_POISON || (b && b->value.kind == TLMC_V_POISON))
        return;
    if (!b || b->kind != TLMC_B_DECLARED || b->value.kind != TLMC_V_TENSOR || !b->value.is_state) {
        tlmc_sema_error(s, f, n->span, TLMC_E_UPDATE, "`%s` is no state of this body", n->text);
        return;
    }
    old = tlmc_place_read(s, b->value.place);
    if (!tlmc_to_tensor(s, f, n->kids[0], &v, tlmc_type_of(s, &old)->dtype, &value))
        return;
    if (!tlmc_type_equal(tlmc_type_of(s, &old), tlmc_type_of(s, &value))) {
        tlmc_sema_error(s, f, n->span, TLMC_E_UPDATE, "state `%s` is %s, its update is %s", n->text,
                        tlmc_show(s, &old), tlmc_show(s, &value));
        return;
    }
    if (value.target && (s->work->form.mode == TLMC_INFER || s->work->form.mode == TLMC_GENERATE)) {
        tlmc_sema_error(s, f, n->span, TLMC_E_UPDATE,
                        "the update of `%s` depends on a target, which inference has not", n->text);
        return;
    }
    place = &s->work->places.items[b->value.place - 1];
    place->current.u.value = value.u.value;
    place->current.target = value.target;
    place->updated = true;
}
