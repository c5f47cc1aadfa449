/* Syntax tree of a .tlm file: one node type, children in source order.  Built only by parser.y
   through the builders below; memory is the compilation's arena; names are interned. */
#ifndef TLMC_FRONTEND_AST_H
#define TLMC_FRONTEND_AST_H

#include "diag.h"
#include "sym.h"

#include <stdbool.h>
#include <stdint.h>

enum { TLMC_MAX_DEPTH = 400, TLMC_MAX_SOURCE = 16 << 20 };

/* AST(KIND, "name in dumps"): what `text` and the children hold stands beside each. */
#define TLMC_AST_KINDS(AST)                                                            \
    AST(ABSENT, "absent")     /* an optional part left out: keeps the position */      \
    AST(FILE, "file")         /* items */                                              \
    AST(MODEL, "model")       /* text name */                                          \
    AST(IMPORT, "import")     /* text path; name|absent */                             \
    AST(BLOCK, "block")       /* text name; params, results|absent, body */            \
    AST(ENTRY, "entry")       /* text name; body */                                    \
    AST(CLAUSE, "clause")     /* text name; str|absent, settings */                    \
    AST(SETTINGS, "settings") /* settings */                                           \
    AST(SET, "set")           /* text key; values|absent, settings|absent */           \
    AST(VALUES, "values")     /* values */                                             \
    AST(MAPS, "maps")         /* from, to */                                           \
    AST(BODY, "body")         /* statements */                                         \
    AST(DIM, "dim")           /* text name; expr */                                    \
    AST(CONST, "const")       /* text name; type|absent, expr */                       \
    AST(INPUT, "input")       /* text name; type */                                    \
    AST(TARGET, "target")     /* text name; type */                                    \
    AST(PARAM, "param")       /* text name; type, init|absent, str|transient|absent */ \
    AST(STATE, "state")       /* as param */                                           \
    AST(TRANSIENT, "transient")                                                        \
    AST(UPDATE, "update")     /* text name; expr */                                    \
    AST(OUTPUT, "output")     /* bindings */                                           \
    AST(LOSS, "loss")         /* bindings */                                           \
    AST(METRIC, "metric")     /* bindings */                                           \
    AST(BINDINGS, "bindings") /* binds */                                              \
    AST(BIND, "bind")         /* text name or NULL; expr */                            \
    AST(ASSIGN, "assign")     /* names, expr */                                        \
    AST(NAMES, "names")       /* names */                                              \
    AST(IF, "if")             /* cond, body, body|absent */                            \
    AST(FOR, "for")           /* text name; span, body */                              \
    AST(RETURN, "return")     /* exprs */                                              \
    AST(EXPRS, "exprs")                                                                \
    AST(ASSERT, "assert")   /* text message; cond */                                   \
    AST(PARAMS, "params")   /* args */                                                 \
    AST(ARG, "arg")         /* text name; type, default|absent */                      \
    AST(RESULTS, "results") /* types (text of a RESULT: its name or NULL) */           \
    AST(RESULT, "result")   /* text name or NULL; type */                              \
    AST(TYPE, "type")       /* text element type or kind; list|absent */               \
    AST(LIST, "list")       /* elements; may hold PACK */                              \
    AST(PACK, "pack")       /* text "" or name */                                      \
    AST(BINARY, "bin")      /* text operator; left, right */                           \
    AST(NEG, "neg")                                                                    \
    AST(NOT, "not")                                                                    \
    AST(PAREN, "paren") /* expr: written parentheses, kept for fmt */                  \
    AST(AS, "as")       /* text "shared" or NULL; call, path */                        \
    AST(PATH, "path")   /* parts and index expressions */                              \
    AST(PART, "part")   /* text; quoted again by fmt when it is no word */             \
    AST(CALL, "call")   /* callee, args */                                             \
    AST(ARGS, "args")   /* values and keywords */                                      \
    AST(KEYWORD, "kw")  /* text name; value */                                         \
    AST(RANGE, "range") /* from, to */                                                 \
    AST(INDEX, "index") /* base, subs */                                               \
    AST(SUBS, "subs")   /* exprs, PACK, SLICE */                                       \
    AST(SLICE, "slice") /* from|absent, to|absent, step|absent */                      \
    AST(DOT, "dot")     /* text member; base */                                        \
    AST(NAME, "name")   /* text */                                                     \
    AST(INT, "int")     /* text digits */                                              \
    AST(FLOAT, "float") /* text as written */                                          \
    AST(STR, "str")     /* text contents, escapes resolved */                          \
    AST(BOOL, "bool")   /* text "true" or "false" */                                   \
    AST(NONE, "none")

enum tlmc_ast_kind {
#define TLMC_AST_ENUM(kind, name) TLMC_AST_##kind,
    TLMC_AST_KINDS(TLMC_AST_ENUM)
#undef TLMC_AST_ENUM
};

struct tlmc_ast {
    enum tlmc_ast_kind kind;
    tlmc_sym text;         /* NULL: none */
    struct tlmc_span span; /* where messages point: of a declaration its name, of `k = v` the k,
                              else the whole */
    uint32_t begin, end;   /* the whole construct, as offsets in span.file */
    uint32_t depth; /* 1 + deepest child; above TLMC_MAX_DEPTH the parser refuses, so recursion over
                       the tree is bounded */
    uint32_t count, capacity;
    struct tlmc_ast **kids;
    const struct tlmc_comment
        *comments; /* on the lines before it and after it on its line; of FILE, BODY, SETTINGS and
                      lists: those before the closing bracket.  For fmt */
};

struct tlmc_comment {
    const char *text;  /* from '#', without the newline; "" marks an empty line alone */
    bool trailing;     /* on the same line, after the node */
    bool blank_before; /* an empty line stood above */
    const struct tlmc_comment *next;
};

const char *tlmc_ast_kind_name(enum tlmc_ast_kind kind);

/* Parses one file of `sources`.  NULL when anything was reported.  No globals, reentrant. */
struct tlmc_ast *tlmc_parse(struct tlmc_arena *arena, struct tlmc_symtab *symbols,
                            struct tlmc_sources *sources, uint32_t file, struct tlmc_diags *diags);

struct tlmc_strbuf;
/* The tree as source text in house layout: parses back to an equal tree.  Comments are kept. */
void tlmc_ast_print(const struct tlmc_ast *file, struct tlmc_strbuf *out);
/* Kinds, texts and children equal; places and comments are not compared. */
bool tlmc_ast_equal(const struct tlmc_ast *a, const struct tlmc_ast *b);

#endif
