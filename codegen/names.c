/* In: names as the user wrote them, in any bytes.  Out: identifiers, unique in their table (rule in
   names.h). */
#include "names.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 80 };

/* Rule 2.  Keywords of C11 and C++, macros of the C headers: taken everywhere. */
static const char *const keywords[] = {
    "alignas",   "alignof",  "and",        "and_eq",   "asm",       "auto",
    "bitand",    "bitor",    "bool",       "break",    "case",      "catch",
    "char",      "class",    "compl",      "const",    "constexpr", "continue",
    "decltype",  "default",  "delete",     "do",       "double",    "else",
    "enum",      "explicit", "export",     "extern",   "false",     "float",
    "for",       "friend",   "goto",       "if",       "inline",    "int",
    "long",      "mutable",  "namespace",  "new",      "noexcept",  "not",
    "not_eq",    "nullptr",  "operator",   "or",       "or_eq",     "private",
    "protected", "public",   "register",   "restrict", "return",    "short",
    "signed",    "sizeof",   "static",     "struct",   "switch",    "template",
    "this",      "throw",    "true",       "try",      "typedef",   "typename",
    "union",     "unsigned", "using",      "virtual",  "void",      "volatile",
    "while",     "xor",      "xor_eq",     "assert",   "errno",     "stdin",
    "stdout",    "stderr",   "linux",      "unix",     "offsetof",  "isnan",
    "isinf",     "signbit",  "fpclassify", "isfinite", "isnormal",  "math_errhandling",
    "main",      "I",        "memcpy",     "memset",   "size_t",    "uint8_t",
    "int32_t",   "uint32_t", "uint64_t",
};

/* Parameters and locals of generated code: no name for a value, but a model may have it, since
   bodies write its type as `struct NAME`. */
static const char *const locals[] = { "args",    "begin", "end",   "count", "error", "i",
                                      "in",      "index", "level", "m",     "model", "needs",
                                      "options", "out",   "r",     "run",   "seed",  "status" };

/* Words that open macros or names of the headers used. */
static const char *const reserved_openings[] = {
    "tlm",   "TLM",      "INT",      "UINT",    "SIZE_",  "FP_",   "FLT_",  "NAN",    "NULL",
    "EOF",   "INFINITY", "HUGE_VAL", "MATH_",   "AT_",    "run_",  "part_", "table_", "rows_",
    "call_", "enqueue_", "cuda_",    "KERNEL_", "PHASE_", "FORM_", "IO_"
};

/* Functions of math.h and string.h, with f and l at the end too, and of the other headers that
   programs include. */
static const char *const libc_math[] = {
    "acos",      "acosh",     "asin",       "asinh", "atan",      "atan2",  "atanh",   "cbrt",
    "ceil",      "copysign",  "cos",        "cosh",  "erf",       "erfc",   "exp",     "exp2",
    "expm1",     "fabs",      "fdim",       "floor", "fma",       "fmax",   "fmin",    "fmod",
    "frexp",     "hypot",     "ilogb",      "ldexp", "lgamma",    "llrint", "llround", "log",
    "log10",     "log1p",     "log2",       "logb",  "lrint",     "lround", "modf",    "nan",
    "nearbyint", "nextafter", "nexttoward", "pow",   "remainder", "remquo", "rint",    "round",
    "scalbn",    "sin",       "sinh",       "sqrt",  "tan",       "tanh",   "tgamma",  "trunc",
};
static const char *const libc_other[] = {
    "abort",  "abs",     "atof",   "atoi",    "calloc",  "close",    "div",     "exit",   "fclose",
    "fopen",  "fread",   "free",   "fwrite",  "getenv",  "index",    "isatty",  "labs",   "ldiv",
    "malloc", "memchr",  "memcmp", "memmove", "open",    "printf",   "puts",    "qsort",  "rand",
    "read",   "realloc", "remove", "rename",  "rindex",  "select",   "signal",  "sleep",  "stat",
    "strcat", "strchr",  "strcmp", "strcpy",  "strlen",  "strncmp",  "strstr",  "strtod", "strtol",
    "system", "time",    "time_t", "unlink",  "write",   "clock",    "bsearch", "getopt", "link",
    "pipe",   "pause",   "access", "ioctl",   "float_t", "double_t",
};

static bool is_of_libc(const char *name)
{
    for (size_t i = 0; i < sizeof libc_math / sizeof *libc_math; i++) {
        const size_t n = strlen(libc_math[i]);

        if (strncmp(name, libc_math[i], n) == 0 &&
            (!name[n] || ((name[n] == 'f' || name[n] == 'l') && !name[n + 1])))
            return true;
    }
    for (size_t i = 0; i < sizeof libc_other / sizeof *libc_other; i++)
        if (strcmp(name, libc_other[i]) == 0)
            return true;
    return false;
}

static bool is_one_of(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

#define IS_ONE_OF(name, words) is_one_of(name, words, sizeof words / sizeof *words)

static bool opens_like_ours(const char *name)
{
    for (size_t i = 0; i < sizeof reserved_openings / sizeof *reserved_openings; i++)
        if (strncmp(name, reserved_openings[i], strlen(reserved_openings[i])) == 0)
            return true;
    return false;
}

bool tlmc_names_reserved(const char *name)
{
    return IS_ONE_OF(name, keywords) || IS_ONE_OF(name, locals) || opens_like_ours(name);
}

/* What belongs to a model opens with its name and a line: so must no word of ours. */
static bool is_our_opening(const char *name)
{
    const size_t n = strlen(name);

    for (size_t i = 0; i < sizeof reserved_openings / sizeof *reserved_openings; i++)
        if (strncmp(reserved_openings[i], name, n) == 0 &&
            strcmp(reserved_openings[i] + n, "_") == 0)
            return true;
    return false;
}

bool tlmc_names_free_for_model(const char *name)
{
    return !IS_ONE_OF(name, keywords) && !opens_like_ours(name) && !is_our_opening(name) &&
           !is_of_libc(name);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

const char *tlmc_names_valid(struct tlmc_arena *arena, const char *wanted)
{
    char text[LONGEST + 2];
    size_t n = 0;

    if (!is_letter(wanted[0]))
        text[n++] = 'v';
    for (const char *p = wanted; *p && n < LONGEST; p++)
        text[n++] = is_letter(*p) || is_digit(*p) ? *p : '_';
    return tlmc_arena_strndup(arena, text, n);
}

const char *tlmc_names_upper(struct tlmc_arena *arena, const char *name)
{
    char *text = tlmc_arena_strdup(arena, name);

    for (char *p = text; *p; p++)
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    return text;
}

void tlmc_names_init(struct tlmc_names *names, struct tlmc_arena *arena)
{
    names->own = false;
    tlmc_symtab_init(&names->taken, arena);
}

/* The name itself when nobody has it yet, else NULL. */
static const char *take(struct tlmc_names *names, const char *name)
{
    const uint32_t before = names->taken.count;
    const char *sym = tlmc_intern(&names->taken, name);

    return names->taken.count > before ? sym : NULL;
}

const char *tlmc_names_make(struct tlmc_names *names, const char *wanted)
{
    const char *base = tlmc_names_valid(names->taken.arena, wanted);
    char text[LONGEST + 16];
    const char *name;

    snprintf(text, sizeof text, "%s%s", base, !names->own && tlmc_names_reserved(base) ? "_" : "");
    name = take(names, text);
    for (unsigned i = 2; !name; i++) {
        snprintf(text, sizeof text, "%s_%u", base, i);
        name = take(names, text);
    }
    return name;
}
