/* What scanner, grammar and tlmc_parse share: the state of one parse.  Private to the front end;
   there are no globals, so parses may run side by side.  Memory is the compilation's arena. */
#ifndef TLMC_FRONTEND_PARSE_H
#define TLMC_FRONTEND_PARSE_H

#include "ast.h"
#include "strbuf.h"
#include "vec.h"

struct tlmc_token {
    int kind; /* as in the generated parser.h: a byte or TOK_... */
    tlmc_sym text;
    struct tlmc_span span;
    uint32_t open; /* brackets open before it */
};

struct tlmc_bracket {
    char byte; /* '(', '[' or '{' */
    struct tlmc_span span;
};

struct tlmc_found_comment {
    uint32_t begin, end;
};

struct tlmc_parser {
    struct tlmc_arena *arena;
    struct tlmc_symtab *symbols;
    struct tlmc_diags *diags;
    const struct tlmc_source *source;
    uint32_t file;
    uint32_t offset; /* of the next byte to scan */
    void *scanner;
    struct tlmc_ast *root;

    struct tlmc_token before, last; /* the token given last and the one before it */
    struct tlmc_token queue[2];     /* given before anything is scanned */
    unsigned queued;
    bool skipping;        /* after an error, up to the end of its statement */
    bool line_ends_error; /* the bad token took the rest of its line with it */
    uint32_t replayed;    /* 1 + offset of the token last given a second time: never a third time */
    bool stop;            /* nothing more is read: a limit was hit */

    struct tlmc_bracket brackets[TLMC_MAX_DEPTH];
    uint32_t open;
    TLMC_VEC(struct tlmc_found_comment) comments;
};

/* ---- scanner (lexer.l) */
union tlmc_yyvalue {
    tlmc_sym text;
    struct tlmc_ast *node;
};

void tlmc_scanner_open(struct tlmc_parser *p);
void tlmc_scanner_close(struct tlmc_parser *p);
/* The next token of the text; 0 at its end. */
int tlmc_scan(union tlmc_yyvalue *value, struct tlmc_span *where, void *scanner);

/* ---- token stream and recovery (parse.c) */
int tlmc_yylex(union tlmc_yyvalue *value, struct tlmc_span *where, struct tlmc_parser *p);
/* After a syntax error at p->last was reported: brings the stream to the end of the statement.
   `insert`: only a semicolon was missing. */
void tlmc_parser_recover(struct tlmc_parser *p, bool insert);
/* Reports unless the statement is being skipped or the parse has ended; NULL then. */
struct tlmc_diag *tlmc_parser_report(struct tlmc_parser *p, enum tlmc_diag_code code,
                                     struct tlmc_span span, const char *fmt, ...) TLMC_PRINTF(4, 5);
void tlmc_parser_too_deep(struct tlmc_parser *p, struct tlmc_span span);
/* A newline stands between the token before the last one and the last one. */
bool tlmc_parser_is_first_on_line(const struct tlmc_parser *p);
/* The last token stands where a statement begins. */
bool tlmc_parser_is_at_statement(const struct tlmc_parser *p);
/* The innermost bracket that was open when the last token was read, or NULL. */
const struct tlmc_bracket *tlmc_parser_innermost(const struct tlmc_parser *p);

/* ---- tree builders (ast.c) */
/* A node over `extent` with messages at `place`; a NULL kid is an optional part left out. */
struct tlmc_ast *tlmc_ast_make(struct tlmc_parser *p, enum tlmc_ast_kind kind,
                               struct tlmc_span extent, struct tlmc_span place, tlmc_sym text,
                               struct tlmc_ast *const *kids, uint32_t count);
/* Appends kid, which may be NULL after an error, and returns list. */
struct tlmc_ast *tlmc_ast_add(struct tlmc_parser *p, struct tlmc_ast *list, struct tlmc_ast *kid);
/* Gives list the extent of its brackets. */
struct tlmc_ast *tlmc_ast_enclose(struct tlmc_ast *list, struct tlmc_span open,
                                  struct tlmc_span close);

/* ---- comments (comments.c): hangs p->comments on the tree. */
void tlmc_comments_attach(struct tlmc_parser *p);

#endif
