/* The semantic stage, private to the front end.  In: the syntax trees of a model and what it
   imports.  Out: a module with one forward graph a form.  A form is elaborated by walking the
   statements: compile-time values are computed on the way, tensors become nodes of the form's
   graph.  Nothing here stops at the first mistake: what failed is POISON and the walk goes on at
   the next statement. */
#ifndef TLMC_FRONTEND_SEMA_H
#define TLMC_FRONTEND_SEMA_H

#include "frontend.h"
#include "map.h"
#include "strbuf.h"
#include "value.h"

enum {
    TLMC_MAX_STATEMENTS = 1000000, /* of one form, after unrolling */
    TLMC_MAX_NODES = 1000000,      /* of one form's graph as built */
    TLMC_MAX_EVALUATIONS = 100000000,
    TLMC_MAX_COPIED_ITEMS = 4000000, /* list items and characters that one form may build */
    TLMC_MAX_WALK_DEPTH = 1500, /* statements, expressions and block calls within one another */
    TLMC_MAX_LIST_DEPTH = 64,
    TLMC_MAX_PARTS = 1 << 16, /* of a split, a stack, a concat */
    TLMC_MAX_KEY = 512,
    TLMC_MAX_IMPORTS = 64 /* imports within one another */
};

/* ---- files */
struct tlmc_file {
    tlmc_sym path;
    uint32_t source;
    bool library, loading;
    const struct tlmc_ast *ast, *model;
    TLMC_VEC(const struct tlmc_ast *) blocks, entries, clauses, items;
    TLMC_VEC(struct tlmc_import {
        tlmc_sym name;
        struct tlmc_file *file;
    })
    imported, aliases;
    struct tlmc_map block_map, imported_map; /* name -> index */
    struct tlmc_frame *scope; /* its dims and consts, elaborated for the form scope_form */
    uint32_t scope_form;
    bool scope_running;
};

/* ---- keys: the instance tree of one form, and its parameters and states */
struct tlmc_instance {
    tlmc_sym path; /* "h.0.attn", "" at the root */
    tlmc_sym part; /* "attn" */
    TLMC_VEC(struct tlmc_instance *) kids;
    TLMC_VEC(struct tlmc_member {
        tlmc_sym name;
        uint32_t place;
    })
    members;
    struct tlmc_span made;              /* by which call; file 0: not yet */
    const struct tlmc_ast *shared_call; /* `as shared` that made it, to warn when it stays alone */
    const struct tlmc_frame *shared_frame;
    uint32_t shared_uses;
};

struct tlmc_place_of_key {
    tlmc_sym key;
    uint32_t param;          /* index into the module's params */
    struct tlmc_val current; /* what a read gives now: the leaf, or the last update */
    uint32_t leaf;
    bool updated;
    struct tlmc_span span;
};

/* ---- frames: where names live */
enum tlmc_binding_kind { TLMC_B_VARIABLE, TLMC_B_DECLARED, TLMC_B_DEAD };

struct tlmc_binding {
    tlmc_sym name;
    enum tlmc_binding_kind kind;
    uint32_t depth; /* of braces where it was declared: blocks see the file's own level alone */
    struct tlmc_val value;
    struct tlmc_span span;
};

struct tlmc_frame {
    struct tlmc_frame *parent; /* the caller; of an entry: the frame of its file */
    struct tlmc_file *file;
    struct tlmc_instance *inst;
    bool training, shared, is_block, is_entry;
    tlmc_sym title;
    const struct tlmc_ast *call; /* where the block was called, in the parent's file */
    const struct tlmc_ast *block;
    struct tlmc_span user_span; /* of a library frame: the innermost place that is the user's */
    TLMC_VEC(struct tlmc_binding) bindings;
    struct tlmc_map names;   /* name -> index of its binding */
    TLMC_VEC(uint32_t) open; /* bindings declared in scopes still open */
    uint32_t depth;          /* of braces */
    TLMC_VEC(struct tlmc_skipped {
        tlmc_sym name;
        const struct tlmc_ast *condition;
    })
    skipped;
    enum tlmc_dtype real, any;       /* what these stand for; TLMC_DTYPE_COUNT: nothing yet */
    const struct tlmc_ast *returned; /* the return statement reached */
    struct tlmc_results results;
};

/* ---- one form while it is built */
struct tlmc_work {
    struct tlmc_form form;
    struct tlmc_graph
        *built; /* the graph that the frames' values are of; finishing may make another */
    uint32_t serial;
    tlmc_sym scope;                /* "train", "infer", "generate": of -D and of clause dims */
    const struct tlmc_ast *dims;   /* settings of the clause of that name, or NULL */
    struct tlmc_frame *top;        /* the entry's frame */
    struct tlmc_frame *file_frame; /* the file's own declarations */
    struct tlmc_instance *root;
    TLMC_VEC(struct tlmc_instance *) instances;
    struct tlmc_map instance_map; /* path -> index */
    TLMC_VEC(struct tlmc_place_of_key) places;
    struct tlmc_map place_map; /* key -> index */
    uint32_t statements, nodes, evaluations, copied, depth;
};

struct tlmc_define {
    tlmc_sym name;
    const char *text;
    bool used;
};

struct tlmc_sema {
    struct tlmc_arena *arena;
    struct tlmc_symtab *symbols;
    struct tlmc_sources *sources;
    struct tlmc_diags *diags;
    const struct tlmc_frontend_options *options;
    TLMC_VEC(struct tlmc_define) defines;
    TLMC_VEC(tlmc_sym) definable; /* what a -D may name, for near names */
    TLMC_VEC(struct tlmc_file *)
    files; /* of the user, in order of reading; the first is the model */
    TLMC_VEC(struct tlmc_std_block {
        tlmc_sym name;
        struct tlmc_file *file;
    })
    std;
    struct tlmc_map std_map;
    struct tlmc_file *file;
    struct tlmc_module *module;
    struct tlmc_map param_map; /* key -> index into module params */
    TLMC_VEC(struct tlmc_work *) works;
    struct tlmc_work *work;
    struct tlmc_graph *graph;
    uint32_t serial;   /* of the last form begun */
    uint64_t failures; /* reports, repeated ones included */
    bool stop;
};

#define TLMC_SYM(s, text) tlmc_intern((s)->symbols, (text))

/* ---- report.c */
/* The primary place is the innermost one of the user's; library places and the calls on the way are
   notes.  A second report of the same code and place is dropped. */
struct tlmc_diag *tlmc_sema_error(struct tlmc_sema *s, const struct tlmc_frame *f,
                                  struct tlmc_span span, enum tlmc_diag_code code, const char *fmt,
                                  ...) TLMC_PRINTF(5, 6);
void tlmc_sema_note(struct tlmc_sema *s, struct tlmc_diag *diag, struct tlmc_span span,
                    const char *fmt, ...) TLMC_PRINTF(4, 5);
/* "f32[2, 3]", "2.5": for messages; interned. */
const char *tlmc_show(struct tlmc_sema *s, const struct tlmc_val *v);
const char *tlmc_show_type(struct tlmc_sema *s, const struct tlmc_type *type);
const char *tlmc_show_dims(struct tlmc_sema *s, const struct tlmc_type *type); /* "[2, 3]" */
/* The nearest of `names` to a misspelt one, or NULL when none is near. */
tlmc_sym tlmc_nearest(tlmc_sym name, const tlmc_sym *names, uint32_t count);
/* Counts items or characters that an expression builds; false when the form builds too many. */
bool tlmc_charge(struct tlmc_sema *s, const struct tlmc_frame *f, struct tlmc_span span,
                 uint64_t amount);

/* ---- files.c */
bool tlmc_load_std(struct tlmc_sema *s);
struct tlmc_file *tlmc_load_model(struct tlmc_sema *s, uint32_t source);
/* A block as the file sees it: its own, imported, std's; NULL: none. */
const struct tlmc_fn *tlmc_find_block(struct tlmc_sema *s, struct tlmc_file *file, tlmc_sym name);
struct tlmc_file *tlmc_find_alias(const struct tlmc_file *file, tlmc_sym name);
const struct tlmc_fn *tlmc_block_of(struct tlmc_sema *s, struct tlmc_file *file, tlmc_sym name);

/* ---- scope.c */
struct tlmc_frame *tlmc_frame_new(struct tlmc_sema *s, struct tlmc_frame *parent,
                                  struct tlmc_file *file, tlmc_sym title);
/* The binding of this very frame, or NULL. */
struct tlmc_binding *tlmc_frame_find(const struct tlmc_frame *f, tlmc_sym name);
struct tlmc_binding *tlmc_frame_bind(struct tlmc_sema *s, struct tlmc_frame *f, tlmc_sym name,
                                     enum tlmc_binding_kind kind, struct tlmc_val value,
                                     struct tlmc_span span);
/* Declares a name to the end of the braces it stands in; reports when it has a meaning. */
void tlmc_declare(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                  struct tlmc_val value);
uint32_t tlmc_scope_open(struct tlmc_frame *f);
void tlmc_scope_close(struct tlmc_frame *f, uint32_t mark);
struct tlmc_val tlmc_lookup(struct tlmc_sema *s, struct tlmc_frame *f, tlmc_sym name,
                            struct tlmc_span span);
/* A function by name: a variable or argument that holds one, a block, a function, an op; NULL after
   a report. */
const struct tlmc_fn *tlmc_lookup_fn(struct tlmc_sema *s, struct tlmc_frame *f, tlmc_sym name,
                                     struct tlmc_span span);
const struct tlmc_fn *tlmc_find_op_fn(struct tlmc_sema *s, tlmc_sym name);

/* ---- types.c */
bool tlmc_is_tensor_type(const struct tlmc_ast *type);
/* The type of a declaration or promised result; false after a report. */
bool tlmc_eval_type(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *type,
                    struct tlmc_type *out);
bool tlmc_eval_dtype(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *type,
                     enum tlmc_dtype *out);
bool tlmc_eval_sizes(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *list,
                     int *rank, int64_t *dims);
/* A compile-time value as an argument or result of a written kind; false after a report at
   `span`. */
bool tlmc_convert(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_frame *at,
                  struct tlmc_span span, const char *what, const struct tlmc_ast *type,
                  struct tlmc_val *v);

/* ---- expr.c, static.c, index.c */
struct tlmc_val tlmc_eval(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n);
struct tlmc_results tlmc_eval_results(struct tlmc_sema *s, struct tlmc_frame *f,
                                      const struct tlmc_ast *n);
/* Text with {name} replaced; NULL after a report. */
tlmc_sym tlmc_eval_string(struct tlmc_sema *s, struct tlmc_frame *f, struct tlmc_span span,
                          tlmc_sym text);
bool tlmc_eval_int(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                   const char *what, int64_t *out);
struct tlmc_val tlmc_static_binary(struct tlmc_sema *s, struct tlmc_frame *f,
                                   const struct tlmc_ast *n, const struct tlmc_val *a,
                                   const struct tlmc_val *b);
/* sqrt, exp, max, ... of compile-time numbers; false when `name` is none of them. */
bool tlmc_static_call(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                      const char *name, const struct tlmc_val *args, uint32_t count,
                      struct tlmc_val *out);
struct tlmc_val tlmc_eval_index(struct tlmc_sema *s, struct tlmc_frame *f,
                                const struct tlmc_ast *n);
struct tlmc_val tlmc_eval_member(struct tlmc_sema *s, struct tlmc_frame *f,
                                 const struct tlmc_ast *n);

/* ---- emit.c: nodes with located errors */
void tlmc_stamp(struct tlmc_sema *s, const struct tlmc_frame *f, const struct tlmc_ast *n);
/* The node's first result, TLMC_NONE after a report that names the operands. */
uint32_t tlmc_emit(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                   enum tlmc_op op, const uint32_t *inputs, uint32_t input_count,
                   const struct tlmc_attr *attrs, uint32_t attr_count);
/* A number, bool or nested list as a constant tensor; `like` is the element type beside it,
   TLMC_DTYPE_COUNT: none. */
bool tlmc_to_tensor(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                    const struct tlmc_val *v, enum tlmc_dtype like, struct tlmc_val *out);
/* v with the flags of a tensor made from these. */
struct tlmc_val tlmc_joined(uint32_t value, const struct tlmc_val *from, uint32_t count);
/* Element by element with NumPy's broadcasting written out; poison after a report. */
struct tlmc_val tlmc_pointwise(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                               enum tlmc_op op, const struct tlmc_val *args, uint32_t count);
struct tlmc_val tlmc_power(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                           const struct tlmc_val *base, const struct tlmc_val *exponent);
struct tlmc_val tlmc_negate(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                            const struct tlmc_val *x);
struct tlmc_val tlmc_product(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                             const struct tlmc_val *a, const struct tlmc_val *b);
/* False and a report when sizes, rank or element count are over the limit. */
bool tlmc_check_type(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                     const struct tlmc_type *type);
const struct tlmc_type *tlmc_type_of(const struct tlmc_sema *s, const struct tlmc_val *v);

/* ---- args.c: arguments of functions, by signature */
struct tlmc_arg {
    tlmc_sym name; /* NULL: positional */
    struct tlmc_val value;
    const struct tlmc_ast *node,
        *key; /* the value; `name = value` as a whole, or the value again */
};

struct tlmc_args {
    TLMC_VEC(struct tlmc_arg) list;
    bool poisoned;
};

enum { TLMC_MAX_SIGNATURE = 8 };

/* A call of a function or initialiser while it is worked out. */
struct tlmc_call {
    struct tlmc_sema *s;
    struct tlmc_frame *f;
    const struct tlmc_ast *node;
    const char *name;
    struct tlmc_val v[TLMC_MAX_SIGNATURE]; /* in the order of the signature */
};

/* Fills c->v.  The signature is "kind:name kind:name=default ...", kinds: t tensor or what can be
   one, T the same or none, i int, f float, b bool, s string, I list of ints, A none, int or list of
   ints, L list. */
bool tlmc_bind_signature(struct tlmc_call *c, const char *signature, const struct tlmc_args *args);

/* ---- functions.c, sugar.c, losses.c, inits.c */
uint32_t tlmc_function_find(const char *name); /* row of functions.def, UINT32_MAX: none */
struct tlmc_results tlmc_call_function(struct tlmc_sema *s, struct tlmc_frame *f,
                                       const struct tlmc_ast *n, uint32_t row,
                                       const struct tlmc_args *args);
struct tlmc_results tlmc_call_op(struct tlmc_sema *s, struct tlmc_frame *f,
                                 const struct tlmc_ast *n, enum tlmc_op op,
                                 const struct tlmc_args *args);
struct tlmc_val tlmc_cast(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                          enum tlmc_dtype dtype, const struct tlmc_args *args);
const char *tlmc_function_name(uint32_t row); /* NULL past the last row */
#define FUN(name, signature, handler) struct tlmc_results tlmc_fn_##handler(struct tlmc_call *c);
#include "functions.def"
struct tlmc_results tlmc_result(struct tlmc_val v);
struct tlmc_results tlmc_result_of(uint32_t value, const struct tlmc_val *from, uint32_t count);
bool tlmc_call_tensor(struct tlmc_call *c, uint32_t arg); /* c->v[arg] made a tensor */
bool tlmc_call_axis(struct tlmc_call *c, int64_t *axis,
                    int rank); /* negative ones counted from the end */

uint32_t tlmc_init_find(const char *name); /* row of initialisers.def, UINT32_MAX: none */
const char *tlmc_init_name(uint32_t row);  /* NULL past the last row */
struct tlmc_val tlmc_init_call(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                               uint32_t row, const struct tlmc_args *args);
/* The initial value that `v` means for a parameter of this type; false after a report. */
bool tlmc_init_resolve(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n,
                       const struct tlmc_val *v, const struct tlmc_type *type,
                       struct tlmc_init *out);
bool tlmc_init_equal(const struct tlmc_init *a, const struct tlmc_init *b,
                     const struct tlmc_type *type);

/* ---- call.c, bind.c */
/* A call with its `as` (NULL: none). */
struct tlmc_results tlmc_eval_call(struct tlmc_sema *s, struct tlmc_frame *f,
                                   const struct tlmc_ast *n, const struct tlmc_ast *as);
/* Binds the arguments of a block in the order of the language; false after a report. */
bool tlmc_bind_block(struct tlmc_sema *s, struct tlmc_frame *g, const struct tlmc_ast *call,
                     const struct tlmc_args *args);
/* Checks results against the promise of the block. */
bool tlmc_check_results(struct tlmc_sema *s, struct tlmc_frame *g, const struct tlmc_ast *block);

/* ---- stmt.c */
void tlmc_walk(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *body);
void tlmc_walk_one(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n);

/* ---- keys.c */
struct tlmc_instance *tlmc_instance_root(struct tlmc_sema *s);
struct tlmc_instance *tlmc_instance_find(struct tlmc_sema *s, const struct tlmc_instance *inst,
                                         tlmc_sym part);
/* The instance an `as` names, entered; *shared says whether its keys may be there already.  NULL
   after a report. */
struct tlmc_instance *tlmc_instance_enter(struct tlmc_sema *s, struct tlmc_frame *f,
                                          const struct tlmc_ast *as, bool *shared);
void tlmc_declare_param(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n);
void tlmc_update_state(struct tlmc_sema *s, struct tlmc_frame *f, const struct tlmc_ast *n);
struct tlmc_val tlmc_place_read(const struct tlmc_sema *s, uint32_t place);
void tlmc_warn_shared_once(struct tlmc_sema *s);

/* ---- entry.c */
bool tlmc_elaborate_all(struct tlmc_sema *s);
/* The -D of this name, or NULL. */
struct tlmc_define *tlmc_find_define(struct tlmc_sema *s, tlmc_sym name);
void tlmc_know_define(struct tlmc_sema *s, tlmc_sym name);
const struct tlmc_ast *tlmc_find_clause(const struct tlmc_file *file, const char *name);
/* The `entry NAME { }` setting of the train clause for this entry, or NULL. */
const struct tlmc_ast *tlmc_listed_entry(const struct tlmc_sema *s, tlmc_sym entry);
/* The one name a setting has as its value, or NULL: `entry judge`, `feed ids`. */
tlmc_sym tlmc_setting_name(const struct tlmc_ast *set);
const struct tlmc_ast *tlmc_find_setting(const struct tlmc_ast *settings, const char *key);

/* ---- finish.c */
/* Stores of the states, and for inference the nodes that no output needs left out. */
void tlmc_finish_form(struct tlmc_sema *s, struct tlmc_work *w);

/* ---- clauses.c, train.c, data.c, optimizer.c, settings.c */
bool tlmc_check_clause_names(struct tlmc_sema *s);
void tlmc_check_clauses(
    struct tlmc_sema *s); /* what must be known before the forms are finished: freeze */
void tlmc_apply_clauses(struct tlmc_sema *s);

/* A clause while its settings are read. */
struct tlmc_clause {
    struct tlmc_sema *s;
    struct tlmc_frame *f;         /* whose dims and consts its values see */
    const struct tlmc_ast *node;  /* clause or setting whose braces are read */
    const struct tlmc_form *form; /* whose inputs and outputs it names; NULL: none */
    struct tlmc_data *data;       /* inside `data` */
    tlmc_data_vec *data_list;     /* where `data` goes */
};

enum tlmc_clause_kind {
    TLMC_C_TRAIN,
    TLMC_C_INFER,
    TLMC_C_GENERATE,
    TLMC_C_PRETRAINED,
    TLMC_C_DATA,
    TLMC_C_ENTRY,
    TLMC_C_VALIDATION
};

/* Hands each setting of these braces to its row of settings.def; reports unknown and repeated
   ones. */
void tlmc_read_settings(struct tlmc_clause *c, enum tlmc_clause_kind kind,
                        const struct tlmc_ast *settings);
#define SETTING(clause, name, handler, repeats) \
    void tlmc_set_##handler(struct tlmc_clause *c, const struct tlmc_ast *set);
#define NUMBER_SETTING(clause, name, type, field, lowest)
#include "settings.def"

/* The single value of a setting; false after a report. */
/* Reports and says whether list->kids[at] sets a name that one before it has set. */
bool tlmc_setting_repeats(struct tlmc_clause *c, const struct tlmc_ast *list, uint32_t at);
bool tlmc_setting_one(struct tlmc_clause *c, const struct tlmc_ast *set,
                      const struct tlmc_ast **value);
bool tlmc_setting_int(struct tlmc_clause *c, const struct tlmc_ast *set, int64_t lowest,
                      int64_t *out);
bool tlmc_setting_number(struct tlmc_clause *c, const struct tlmc_ast *set, double *out);
bool tlmc_setting_bool(struct tlmc_clause *c, const struct tlmc_ast *set, bool *out);
/* NAME or NAME(arguments): the name, and the arguments or NULL. */
bool tlmc_call_form(const struct tlmc_ast *n, tlmc_sym *name, const struct tlmc_ast **args);
bool tlmc_setting_strings(struct tlmc_clause *c, const struct tlmc_ast *set, tlmc_sym **out,
                          uint32_t *count);
/* `*` is any run of characters, `?` one. */
bool tlmc_pattern_matches(const char *pattern, const char *text);
/* Reports a pattern that no key of the module matches; states count when `states`. */
bool tlmc_pattern_known(struct tlmc_clause *c, const struct tlmc_ast *n, const char *pattern,
                        bool states);
void tlmc_check_feeds(struct tlmc_clause *c, const tlmc_data_vec *list);
uint32_t tlmc_find_io(const tlmc_io_vec *list, tlmc_sym name); /* TLMC_NONE: none */

#endif
