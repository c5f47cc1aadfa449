/* The reader of registry files.

       file   : ("capsule" NAME | "profile" NAME | "provider" NAME | "defaults") "{" field* "}" ...
       field  : NAME value ("," value)* ";"          commas may be left out
       value  : WORD | STRING | WORD "=" WORD | WORD "(" INTEGER ")"

   `defaults` holds for the capsules that follow in the file; a later block replaces the fields it
   names.  `{op}` in a value stands for the capsule's op.  First the text becomes entries of fields
   (here), then each kind of entry is read against its field table (registry_entry.c).  Errors are
   collected; reading goes on after the next ';' or '}'. */
#include "registry.h"

#include "registry_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    const struct tlmc_registry_reader *reader;
    struct tlmc_reg_scanner scan;
    struct tlmc_reg_entry defaults;
};

static bool at_punct(const struct parser *p, char c)
{
    return p->scan.token == TLMC_REG_PUNCT && p->scan.punct == c;
}

static const char *token_text(const struct parser *p, char *buf, size_t size)
{
    if (p->scan.token == TLMC_REG_END)
        snprintf(buf, size, "the end of the file");
    else if (p->scan.token == TLMC_REG_PUNCT)
        snprintf(buf, size, "'%c'", p->scan.punct);
    else
        snprintf(buf, size, "'%.60s'", p->scan.word);
    return buf;
}

static void expected(struct parser *p, const char *what)
{
    char text[80];

    if (p->scan.token != TLMC_REG_BAD)
        tlmc_report(p->reader->diags, TLMC_E_REGISTRY, p->scan.span, "expected %s, found %s", what,
                    token_text(p, text, sizeof text));
}

/* After an error inside a field: behind the next ';', or before the entry's '}'. */
static void skip_field(struct parser *p)
{
    while (p->scan.token != TLMC_REG_END && p->scan.token != TLMC_REG_BAD && !at_punct(p, '}')) {
        const bool last = at_punct(p, ';');

        tlmc_reg_next(&p->scan);
        if (last)
            return;
    }
}

static bool parse_argument(struct parser *p, struct tlmc_reg_value *value)
{
    char *end;

    tlmc_reg_next(&p->scan); /* '(' */
    if (p->scan.token != TLMC_REG_WORD || strlen(p->scan.word) > 18) {
        expected(p, "a whole number of at most 18 digits");
        return false;
    }
    value->argument = strtoll(p->scan.word, &end, 10);
    value->has_argument = true;
    if (*end) {
        expected(p, "a whole number");
        return false;
    }
    tlmc_reg_next(&p->scan);
    if (!at_punct(p, ')')) {
        expected(p, "')'");
        return false;
    }
    value->span = tlmc_span_join(value->span, p->scan.span);
    tlmc_reg_next(&p->scan);
    return true;
}

static bool parse_value(struct parser *p, struct tlmc_reg_field *field)
{
    struct tlmc_reg_value value = { .text = p->scan.word,
                                    .is_string = p->scan.token == TLMC_REG_STRING,
                                    .span = p->scan.span };

    tlmc_reg_next(&p->scan);
    if (!value.is_string && at_punct(p, '=')) {
        tlmc_reg_next(&p->scan);
        if (p->scan.token != TLMC_REG_WORD) {
            expected(p, "a word after '='");
            return false;
        }
        value.assigned = p->scan.word;
        value.span = tlmc_span_join(value.span, p->scan.span);
        tlmc_reg_next(&p->scan);
    } else if (!value.is_string && at_punct(p, '(') && !parse_argument(p, &value)) {
        return false;
    }
    TLMC_PUSH(p->reader->arena, &field->values, value);
    return true;
}

/* Values up to ';'. */
static bool parse_values(struct parser *p, struct tlmc_reg_field *field)
{
    while (!at_punct(p, ';')) {
        if (p->scan.token != TLMC_REG_WORD && p->scan.token != TLMC_REG_STRING) {
            expected(p, field->values.count ? "';'" : "a value");
            return false;
        }
        if (!parse_value(p, field))
            return false;
        if (at_punct(p, ','))
            tlmc_reg_next(&p->scan);
    }
    if (!field->values.count) {
        expected(p, "a value");
        return false;
    }
    tlmc_reg_next(&p->scan);
    return true;
}

static void parse_field(struct parser *p, const struct tlmc_reg_kind *kind,
                        struct tlmc_reg_entry *entry)
{
    const tlmc_sym name = p->scan.word;
    struct tlmc_reg_field field = { .span = p->scan.span };

    if (p->scan.token != TLMC_REG_WORD) {
        expected(p, "the name of a field or '}'");
        if (p->scan.token == TLMC_REG_PUNCT)
            tlmc_reg_next(&p->scan);
        skip_field(p);
        return;
    }
    tlmc_reg_next(&p->scan);
    if (!parse_values(p, &field)) {
        skip_field(p);
        return;
    }
    field.id = tlmc_reg_field_id(p->reader, kind, entry, name, &field);
    if (field.id >= 0)
        TLMC_PUSH(p->reader->arena, &entry->fields, field);
}

static bool parse_body(struct parser *p, const struct tlmc_reg_kind *kind,
                       struct tlmc_reg_entry *entry)
{
    if (!at_punct(p, '{')) {
        expected(p, "'{'");
        return false;
    }
    tlmc_reg_next(&p->scan);
    while (p->scan.token != TLMC_REG_END && p->scan.token != TLMC_REG_BAD && !at_punct(p, '}'))
        parse_field(p, kind, entry);
    if (!at_punct(p, '}')) {
        if (p->scan.token == TLMC_REG_END)
            tlmc_report(p->reader->diags, TLMC_E_REGISTRY, entry->span,
                        "'{' of '%s' is never closed", entry->name);
        return false;
    }
    tlmc_reg_next(&p->scan);
    return true;
}

/* `numeric contract=fused;` keeps what the defaults say of the other three. */
static void inherit_numeric(struct parser *p, struct tlmc_reg_field *into,
                            const struct tlmc_reg_field *from)
{
    const unsigned own = into->values.count;
    unsigned i, j;

    for (i = 0; i < from->values.count; i++) {
        for (j = 0; j < own && into->values.items[j].text != from->values.items[i].text; j++)
            continue;
        if (j == own)
            TLMC_PUSH(p->reader->arena, &into->values, from->values.items[i]);
    }
}

/* Fields of `from` that `into` does not have. */
static void inherit(struct parser *p, struct tlmc_reg_entry *into,
                    const struct tlmc_reg_entry *from)
{
    const unsigned own = into->fields.count;
    unsigned i, j;

    for (i = 0; i < from->fields.count; i++) {
        for (j = 0; j < own && into->fields.items[j].id != from->fields.items[i].id; j++)
            continue;
        if (j < own && from->fields.items[i].id == TLMC_F_NUMERIC)
            inherit_numeric(p, &into->fields.items[j], &from->fields.items[i]);
        if (j < own)
            continue;
        TLMC_PUSH(p->reader->arena, &into->fields, from->fields.items[i]);
        into->fields.items[into->fields.count - 1].inherited = true;
    }
}

static void parse_entry(struct parser *p, struct tlmc_registry *out)
{
    const struct tlmc_reg_kind *kind =
        p->scan.token == TLMC_REG_WORD ? tlmc_reg_kind_find(p->scan.word) : NULL;
    struct tlmc_reg_entry entry = { .name = p->scan.word, .span = p->scan.span };

    if (!kind) {
        expected(p, "'capsule', 'profile', 'provider' or 'defaults'");
        /* On to what may be the next entry: behind this one's '}'. */
        while (p->scan.token != TLMC_REG_END && p->scan.token != TLMC_REG_BAD && !at_punct(p, '}'))
            tlmc_reg_next(&p->scan);
        tlmc_reg_next(&p->scan);
        return;
    }
    tlmc_reg_next(&p->scan);
    if (kind->what != TLMC_REG_DEFAULTS) {
        if (p->scan.token != TLMC_REG_WORD) {
            expected(p, "a name");
            skip_field(p);
            return;
        }
        entry.name = p->scan.word;
        entry.span = p->scan.span;
        tlmc_reg_next(&p->scan);
    }
    if (!parse_body(p, kind, &entry))
        return;
    if (kind->what == TLMC_REG_DEFAULTS) {
        inherit(p, &entry, &p->defaults);
        p->defaults = entry;
        return;
    }
    if (kind->what == TLMC_REG_CAPSULE)
        inherit(p, &entry, &p->defaults);
    tlmc_reg_entry_read(p->reader, kind, &entry, out);
}

bool tlmc_registry_read(const struct tlmc_registry_reader *reader, struct tlmc_registry *out)
{
    const unsigned before = reader->diags->errors;
    struct parser p = { .reader = reader };

    tlmc_reg_scanner_init(&p.scan, reader->arena, reader->symbols, reader->diags, reader->file);
    while (p.scan.token != TLMC_REG_END && p.scan.token != TLMC_REG_BAD &&
           reader->diags->errors - before <= TLMC_MAX_ERRORS)
        parse_entry(&p, out);
    return reader->diags->errors == before;
}
