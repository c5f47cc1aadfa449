/* Grammar of the model language.  In: tokens.  Out: the syntax tree in p->root.  Refuses what the grammar does not
   know, with a located message; recovery is the token stream's (parse.c): after an error it hands out a ';'.
   No conflicts: %expect 0.  Ops, layers, readers, optimizers, clauses and settings are identifiers that later stages
   look up in tables: a new one touches neither this file nor the scanner. */
%code requires {
#include "parse.h"
}
%code {
/* From the begin of the first to the end of the last part; an empty one lies behind the part before it. */
#define YYLLOC_DEFAULT(current, rhs, n)                                                            \
    ((current) = (n) ? tlmc_span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n))                          \
                     : (struct tlmc_span){ YYRHSLOC(rhs, 0).file, YYRHSLOC(rhs, 0).end,            \
                                           YYRHSLOC(rhs, 0).end })
#define KIDS(...) (struct tlmc_ast *[]){ __VA_ARGS__ },                                            \
        sizeof((struct tlmc_ast *[]){ __VA_ARGS__ }) / sizeof(struct tlmc_ast *)
#define NODE(extent, place, kind, text, ...)                                                       \
    tlmc_ast_make(p, TLMC_AST_##kind, extent, place, text, KIDS(__VA_ARGS__))
#define LEAF(place, kind, text) tlmc_ast_make(p, TLMC_AST_##kind, place, place, text, NULL, 0)
#define OPERATION(extent, op, left, right)                                                         \
    NODE(extent, extent, BINARY, tlmc_intern(p->symbols, op), left, right)

static void tlmc_yyerror(struct tlmc_span *where, struct tlmc_parser *p, const char *message);
}
%define api.pure full
%define api.prefix {tlmc_yy}
%define api.token.prefix {TOK_}
%define api.value.type {union tlmc_yyvalue}
%define api.location.type {struct tlmc_span}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%initial-action { @$ = (struct tlmc_span){ p->file, 0, 0 }; }
%param { struct tlmc_parser *p }

%token END 0 "end of file"
%token <text> MODEL "model" IMPORT "import" BLOCK "block" ENTRY "entry" DIM "dim" CONST "const" INPUT "input"
%token <text> TARGET "target" PARAM "param" STATE "state" UPDATE "update" OUTPUT "output" LOSS "loss" METRIC "metric"
%token <text> IF "if" ELSE "else" FOR "for" IN "in" RETURN "return" ASSERT "assert" AS "as" SHARED "shared"
%token <text> NAMED "named" TRANSIENT "transient" TRUE "true" FALSE "false" NONE "none"
%token <text> IDENT "name" INT "integer" FLOAT "number" STRING "string"
%token ELLIPSIS "..." DOTDOT ".." ARROW "->" POW "**" FLOORDIV "//" EQ "==" NE "!=" LE "<=" GE ">=" AND "&&" OR "||"
%token BAD "invalid token"

%left "||"
%left "&&"
%nonassoc "==" "!=" '<' "<=" '>' ">="
%left '+' '-'
%left '*' '/' "//" '%' '@'
%precedence UNARY
%right "**"

%type <node> file item clause body stmts stmt if_stmt targets bindings binding init suffix settings setting values value
%type <node> params paramlist param result rtypes rtype type items itemlist listitem exprs expr scoped call postfix
%type <node> primary args arglist arg span subs sub opt path part
%type <text> word key

%%
file    : %empty                                { $$ = p->root = LEAF(@$, FILE, NULL); }
        | file item                             { $$ = tlmc_ast_add(p, $1, $2); }
        ;
item    : "model" IDENT ';'                     { $$ = tlmc_ast_make(p, TLMC_AST_MODEL, @$, @2, $2, NULL, 0); }
        | "import" STRING ';'                   { $$ = NODE(@$, @2, IMPORT, $2, NULL); }
        | "import" STRING "as" IDENT ';'        { $$ = NODE(@$, @2, IMPORT, $2, LEAF(@4, NAME, $4)); }
        | "block" IDENT '(' params ')' result body
                                                { $$ = NODE(@$, @2, BLOCK, $2, tlmc_ast_enclose($4, @3, @5), $6, $7); }
        | "entry" IDENT body                    { $$ = NODE(@$, @2, ENTRY, $2, $3); }
        | clause
        | stmt
        ;

/* statements */
body    : '{' stmts '}'                         { $$ = tlmc_ast_enclose($2, @1, @3); }
        ;
stmts   : %empty                                { $$ = LEAF(@$, BODY, NULL); }
        | stmts stmt                            { $$ = tlmc_ast_add(p, $1, $2); }
        ;
stmt    : "dim" IDENT '=' expr ';'              { $$ = NODE(@$, @2, DIM, $2, $4); }
        | "const" IDENT '=' expr ';'            { $$ = NODE(@$, @2, CONST, $2, NULL, $4); }
        | "const" IDENT ':' type '=' expr ';'   { $$ = NODE(@$, @2, CONST, $2, $4, $6); }
        | "input" IDENT ':' type ';'            { $$ = NODE(@$, @2, INPUT, $2, $4); }
        | "target" IDENT ':' type ';'           { $$ = NODE(@$, @2, TARGET, $2, $4); }
        | "param" IDENT ':' type init suffix ';'
                                                { $$ = NODE(@$, @2, PARAM, $2, $4, $5, $6); }
        | "state" IDENT ':' type init suffix ';'
                                                { $$ = NODE(@$, @2, STATE, $2, $4, $5, $6); }
        | "update" IDENT '=' expr ';'           { $$ = NODE(@$, @2, UPDATE, $2, $4); }
        | "output" bindings ';'                 { $$ = NODE(@$, @$, OUTPUT, NULL, $2); }
        | "loss" bindings ';'                   { $$ = NODE(@$, @$, LOSS, NULL, $2); }
        | "metric" bindings ';'                 { $$ = NODE(@$, @$, METRIC, NULL, $2); }
        | targets '=' expr ';'                  { $$ = NODE(@$, @$, ASSIGN, NULL, $1, $3); }
        | if_stmt
        | "for" IDENT "in" span body            { $$ = NODE(@$, @2, FOR, $2, $4, $5); }
        | "return" exprs ';'                    { $$ = NODE(@$, @$, RETURN, NULL, $2); }
        | "assert" expr ',' STRING ';'          { $$ = NODE(@$, @$, ASSERT, $4, $2); }
        | error ';'                             { $$ = NULL; yyerrok; }
        ;
if_stmt : "if" expr body                        { $$ = NODE(@$, tlmc_span_join(@1, @2), IF, NULL, $2, $3, NULL); }
        | "if" expr body "else" body            { $$ = NODE(@$, tlmc_span_join(@1, @2), IF, NULL, $2, $3, $5); }
        | "if" expr body "else" if_stmt         { $$ = NODE(@$, tlmc_span_join(@1, @2), IF, NULL, $2, $3,
                                                            NODE(@5, @5, BODY, NULL, $5)); }
        ;
targets : IDENT                                 { $$ = NODE(@$, @$, NAMES, NULL, LEAF(@1, NAME, $1)); }
        | targets ',' IDENT                     { $$ = tlmc_ast_add(p, $1, LEAF(@3, NAME, $3)); }
        ;
bindings: binding                               { $$ = NODE(@$, @$, BINDINGS, NULL, $1); }
        | bindings ',' binding                  { $$ = tlmc_ast_add(p, $1, $3); }
        ;
binding : expr                                  { $$ = NODE(@$, @$, BIND, NULL, $1); }
        | word '=' expr                         { $$ = NODE(@$, @1, BIND, $1, $3); }
        ;
init    : %empty                                { $$ = NULL; }
        | '=' expr                              { $$ = $2; }
        ;
suffix  : %empty                                { $$ = NULL; }
        | "named" STRING                        { $$ = LEAF(@2, STR, $2); }
        | "transient"                           { $$ = LEAF(@$, TRANSIENT, NULL); }
        ;

/* clauses: train, infer, pretrained, generate */
clause  : IDENT '{' settings '}'                { $$ = NODE(@$, @1, CLAUSE, $1, NULL, tlmc_ast_enclose($3, @2, @4)); }
        | IDENT STRING '{' settings '}'         { $$ = NODE(@$, @1, CLAUSE, $1, LEAF(@2, STR, $2),
                                                            tlmc_ast_enclose($4, @3, @5)); }
        ;
settings: %empty                                { $$ = LEAF(@$, SETTINGS, NULL); }
        | settings setting                      { $$ = tlmc_ast_add(p, $1, $2); }
        ;
setting : key ';'                               { $$ = NODE(@$, @1, SET, $1, NULL, NULL); }
        | key values ';'                        { $$ = NODE(@$, @1, SET, $1, $2, NULL); }
        | key '{' settings '}'                  { $$ = NODE(@$, @1, SET, $1, NULL, tlmc_ast_enclose($3, @2, @4)); }
        | key values '{' settings '}'           { $$ = NODE(@$, @1, SET, $1, $2, tlmc_ast_enclose($4, @3, @5)); }
        | key '=' span ';'                      { $$ = NODE(@$, @1, BIND, $1, $3); }
        | "dim" IDENT '=' expr ';'              { $$ = NODE(@$, @2, DIM, $2, $4); }
        | error ';'                             { $$ = NULL; yyerrok; }
        ;
values  : value                                 { $$ = NODE(@$, @$, VALUES, NULL, $1); }
        | values ',' value                      { $$ = tlmc_ast_add(p, $1, $3); }
        ;
value   : span
        | expr "->" expr                        { $$ = NODE(@$, @$, MAPS, NULL, $1, $3); }
        ;

/* blocks and types */
params  : %empty                                { $$ = LEAF(@$, PARAMS, NULL); }
        | paramlist
        | paramlist ','
        ;
paramlist: param                                { $$ = NODE(@$, @$, PARAMS, NULL, $1); }
        | paramlist ',' param                   { $$ = tlmc_ast_add(p, $1, $3); }
        ;
param   : IDENT ':' type                        { $$ = NODE(@$, @1, ARG, $1, $3, NULL); }
        | IDENT ':' type '=' expr               { $$ = NODE(@$, @1, ARG, $1, $3, $5); }
        ;
result  : %empty                                { $$ = NULL; }
        | "->" rtype                            { $$ = NODE(@2, @2, RESULTS, NULL, $2); }
        | "->" '(' rtypes ')'                   { $$ = tlmc_ast_enclose($3, @2, @4); }
        ;
rtypes  : rtype                                 { $$ = NODE(@$, @$, RESULTS, NULL, $1); }
        | rtypes ',' rtype                      { $$ = tlmc_ast_add(p, $1, $3); }
        ;
rtype   : type                                  { $$ = NODE(@$, @$, RESULT, NULL, $1); }
        | IDENT ':' type                        { $$ = NODE(@$, @$, RESULT, $1, $3); }
        ;
type    : "dim"                                 { $$ = NODE(@$, @$, TYPE, $1, NULL); }
        | IDENT                                 { $$ = NODE(@$, @$, TYPE, $1, NULL); }
        | IDENT '[' items ']'                   { $$ = NODE(@$, @$, TYPE, $1, tlmc_ast_enclose($3, @2, @4)); }
        ;
items   : %empty                                { $$ = LEAF(@$, LIST, NULL); }
        | itemlist
        | itemlist ','
        ;
itemlist: listitem                              { $$ = NODE(@$, @$, LIST, NULL, $1); }
        | itemlist ',' listitem                 { $$ = tlmc_ast_add(p, $1, $3); }
        ;
listitem: expr
        | "..."                                 { $$ = LEAF(@$, PACK, tlmc_intern(p->symbols, "")); }
        | "..." IDENT                           { $$ = LEAF(@$, PACK, $2); }
        ;

/* expressions */
exprs   : expr                                  { $$ = NODE(@$, @$, EXPRS, NULL, $1); }
        | exprs ',' expr                        { $$ = tlmc_ast_add(p, $1, $3); }
        ;
expr    : expr "||" expr                        { $$ = OPERATION(@$, "||", $1, $3); }
        | expr "&&" expr                        { $$ = OPERATION(@$, "&&", $1, $3); }
        | expr "==" expr                        { $$ = OPERATION(@$, "==", $1, $3); }
        | expr "!=" expr                        { $$ = OPERATION(@$, "!=", $1, $3); }
        | expr '<' expr                         { $$ = OPERATION(@$, "<", $1, $3); }
        | expr "<=" expr                        { $$ = OPERATION(@$, "<=", $1, $3); }
        | expr '>' expr                         { $$ = OPERATION(@$, ">", $1, $3); }
        | expr ">=" expr                        { $$ = OPERATION(@$, ">=", $1, $3); }
        | expr '+' expr                         { $$ = OPERATION(@$, "+", $1, $3); }
        | expr '-' expr                         { $$ = OPERATION(@$, "-", $1, $3); }
        | expr '*' expr                         { $$ = OPERATION(@$, "*", $1, $3); }
        | expr '/' expr                         { $$ = OPERATION(@$, "/", $1, $3); }
        | expr "//" expr                        { $$ = OPERATION(@$, "//", $1, $3); }
        | expr '%' expr                         { $$ = OPERATION(@$, "%", $1, $3); }
        | expr '@' expr                         { $$ = OPERATION(@$, "@", $1, $3); }
        | expr "**" expr                        { $$ = OPERATION(@$, "**", $1, $3); }
        | '-' expr %prec UNARY                  { $$ = NODE(@$, @$, NEG, NULL, $2); }
        | '!' expr %prec UNARY                  { $$ = NODE(@$, @$, NOT, NULL, $2); }
        | scoped
        ;
scoped  : postfix
        | call "as" path                        { $$ = NODE(@$, @$, AS, NULL, $1, $3); }
        | call "as" "shared" path               { $$ = NODE(@$, @$, AS, $3, $1, $4); }
        ;
path    : part                                  { $$ = NODE(@$, @$, PATH, NULL, $1); }
        | path '.' part                         { $$ = tlmc_ast_add(p, $1, $3); }
        | path '[' expr ']'                     { $$ = tlmc_ast_add(p, $1, $3); }
        ;
part    : word                                  { $$ = LEAF(@$, PART, $1); }
        | STRING                                { $$ = LEAF(@$, PART, $1); }
        ;
call    : postfix '(' args ')'                  { $$ = NODE(@$, @$, CALL, NULL, $1, tlmc_ast_enclose($3, @2, @4)); }
        ;
postfix : primary
        | call
        | postfix '[' subs ']'                  { $$ = NODE(@$, @$, INDEX, NULL, $1, $3); }
        | postfix '.' word                      { $$ = NODE(@$, @$, DOT, $3, $1); }
        ;
primary : IDENT                                 { $$ = LEAF(@$, NAME, $1); }
        | INT                                   { $$ = LEAF(@$, INT, $1); }
        | FLOAT                                 { $$ = LEAF(@$, FLOAT, $1); }
        | STRING                                { $$ = LEAF(@$, STR, $1); }
        | "true"                                { $$ = LEAF(@$, BOOL, $1); }
        | "false"                               { $$ = LEAF(@$, BOOL, $1); }
        | "none"                                { $$ = LEAF(@$, NONE, NULL); }
        | '(' expr ')'                          { $$ = NODE(@$, @$, PAREN, NULL, $2); }
        | '[' items ']'                         { $$ = tlmc_ast_enclose($2, @1, @3); }
        ;
args    : %empty                                { $$ = LEAF(@$, ARGS, NULL); }
        | arglist
        | arglist ','
        ;
arglist : arg                                   { $$ = NODE(@$, @$, ARGS, NULL, $1); }
        | arglist ',' arg                       { $$ = tlmc_ast_add(p, $1, $3); }
        ;
arg     : span
        | word '=' span                         { $$ = NODE(@$, @1, KEYWORD, $1, $3); }
        ;
span    : expr
        | expr ".." expr                        { $$ = NODE(@$, @$, RANGE, NULL, $1, $3); }
        ;
subs    : sub                                   { $$ = NODE(@$, @$, SUBS, NULL, $1); }
        | subs ',' sub                          { $$ = tlmc_ast_add(p, $1, $3); }
        ;
sub     : expr
        | "..."                                 { $$ = LEAF(@$, PACK, tlmc_intern(p->symbols, "")); }
        | opt ':' opt                           { $$ = NODE(@$, @$, SLICE, NULL, $1, $3, NULL); }
        | opt ':' opt ':' opt                   { $$ = NODE(@$, @$, SLICE, NULL, $1, $3, $5); }
        ;
opt     : %empty                                { $$ = NULL; }
        | expr
        ;

/* a reserved word is an ordinary word after `as`, after `.`, before `=` in a list and as the name of a setting */
word    : key
        | "dim"
        ;
key     : IDENT | "model" | "import" | "block" | "entry" | "const" | "input" | "target" | "param" | "state" | "update"
        | "output" | "loss" | "metric" | "if" | "else" | "for" | "in" | "return" | "assert" | "as" | "named" | "transient"
        ;
%%
/* The tokens that could stand here instead of the bad one. */
struct expected {
    yysymbol_kind_t kinds[YYNTOKENS];
    int count;
};

static bool expects(const struct expected *e, yysymbol_kind_t kind)
{
    for (int i = 0; i < e->count; i++)
        if (e->kinds[i] == kind)
            return true;
    return false;
}

static bool is_reserved(yysymbol_kind_t kind)
{
    return kind >= YYSYMBOL_MODEL && kind <= YYSYMBOL_NONE;
}

/* "'->'", "name": literal tokens in quotes, classes of tokens bare. */
static const char *describe(struct tlmc_arena *arena, yysymbol_kind_t kind)
{
    const char *name = yysymbol_name(kind);
    const size_t n = strlen(name);
    char *out;

    if (name[0] == '\'' || kind == YYSYMBOL_YYEOF || (kind >= YYSYMBOL_IDENT && kind <= YYSYMBOL_STRING))
        return name;
    out = tlmc_arena_alloc(arena, n + 3);
    out[0] = out[n + 1] = '\'';
    memcpy(out + 1, name, n);
    return out;
}

static bool closes(int token, char bracket)
{
    return (token == ')' && bracket == '(') || (token == ']' && bracket == '[') || (token == '}' && bracket == '{');
}

/* A bracket of an expression is open, and here is something that no expression holds. */
static bool leaves_bracket(const struct tlmc_parser *p, const struct tlmc_bracket *open, yysymbol_kind_t got)
{
    const int token = p->last.kind;

    if (!open || open->byte == '{')
        return false;
    return token == ';' || token == '{' || token == TOK_END ||
           ((token == ')' || token == ']' || token == '}') && !closes(token, open->byte)) ||
           (is_reserved(got) && tlmc_parser_is_first_on_line(p));
}

static void report_unclosed(struct tlmc_parser *p, const struct tlmc_bracket *open, const char *got)
{
    struct tlmc_diag *d = tlmc_parser_report(p, TLMC_E_UNCLOSED_BRACKET, open->span, "'%c' is never closed", open->byte);

    if (d && p->last.kind != TOK_END)
        tlmc_note(p->diags, d, p->last.span, "%s stands here before it is closed", got);
}

static void report_unexpected(struct tlmc_parser *p, const struct expected *e, yysymbol_kind_t got)
{
    enum { FEW = 5, SHOWN = 40 };
    const struct tlmc_bracket *open = tlmc_parser_innermost(p);
    const char *name = describe(p->arena, got);
    struct tlmc_strbuf list = { 0 };
    struct tlmc_diag *d;

    for (int i = 0; e->count <= FEW && i < e->count; i++)
        tlmc_strbuf_printf(&list, "%s%s", i == 0 ? "; expected " : i == e->count - 1 ? " or " : ", ",
                           describe(p->arena, e->kinds[i]));
    if (got >= YYSYMBOL_IDENT && got <= YYSYMBOL_FLOAT)
        d = tlmc_parser_report(p, TLMC_E_SYNTAX, p->last.span, "unexpected %s '%.*s'%s", name, SHOWN, p->last.text,
                               tlmc_strbuf_text(&list));
    else
        d = tlmc_parser_report(p, TLMC_E_SYNTAX, p->last.span, "unexpected %s%s", name, tlmc_strbuf_text(&list));
    tlmc_strbuf_free(&list);
    if (d && expects(e, YYSYMBOL_STRING) && expects(e, YYTRANSLATE('=')) && expects(e, YYTRANSLATE('{')))
        tlmc_hint(p->diags, d, "a name begins an assignment, `y = f(x);`, or a clause, `train { }`");
    if (d && open && (got == YYSYMBOL_BLOCK || got == YYSYMBOL_ENTRY || got == YYSYMBOL_MODEL || got == YYSYMBOL_IMPORT))
        tlmc_note(p->diags, d, open->span, "%s stands at top level only; this '%c' is open", name, open->byte);
}

/* Names the mistake; true when only a semicolon was missing. */
static bool report(struct tlmc_parser *p, const struct expected *e, yysymbol_kind_t got)
{
    const struct tlmc_bracket *open = tlmc_parser_innermost(p);
    const bool ends = got == YYSYMBOL_YYEOF || p->last.kind == '}' || tlmc_parser_is_first_on_line(p);
    const bool semicolon = expects(e, YYTRANSLATE(';'));

    if (leaves_bracket(p, open, got) || (got == YYSYMBOL_YYEOF && open && !semicolon)) {
        report_unclosed(p, open, describe(p->arena, got));
    } else if (ends && semicolon) {
        const struct tlmc_span end = { p->file, p->before.span.end, p->before.span.end + 1 };

        tlmc_parser_report(p, TLMC_E_MISSING_SEMICOLON, end, "missing ';'");
        return true;
    } else if (p->last.kind == '=' && p->before.text && is_reserved(YYTRANSLATE(p->before.kind)) &&
               !expects(e, YYSYMBOL_EQ)) {
        tlmc_parser_report(p, TLMC_E_RESERVED_WORD, p->before.span, "'%s' is a reserved word; choose another name",
                           p->before.text);
    } else if (is_reserved(got) && expects(e, YYSYMBOL_IDENT) && !tlmc_parser_is_at_statement(p) &&
               !tlmc_parser_is_first_on_line(p)) {
        tlmc_parser_report(p, TLMC_E_RESERVED_WORD, p->last.span, "'%s' is a reserved word; choose another name",
                           p->last.text);
    } else if (p->last.kind == '=' && expects(e, YYSYMBOL_EQ)) {
        tlmc_parser_report(p, TLMC_E_ASSIGN_FOR_COMPARE, p->last.span, "unexpected '='; a comparison is written ==");
    } else {
        report_unexpected(p, e, got);
    }
    return false;
}

static int yyreport_syntax_error(const yypcontext_t *context, struct tlmc_parser *p)
{
    const yysymbol_kind_t got = yypcontext_token(context);
    struct expected e;
    bool insert = false;

    if (p->stop)
        return 0;
    e.count = yypcontext_expected_tokens(context, e.kinds, YYNTOKENS);
    if (got != YYSYMBOL_BAD) /* the scanner has spoken already */
        insert = report(p, &e, got);
    tlmc_parser_recover(p, insert);
    return 0;
}

/* Bison itself speaks only when its stack is full, which takes thousands of open constructs. */
static void tlmc_yyerror(struct tlmc_span *where, struct tlmc_parser *p, const char *message)
{
    (void)where;
    (void)message;
    tlmc_parser_too_deep(p, p->last.span);
}
