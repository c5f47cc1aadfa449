/* In: templates and texts.  Out: indented lines of at most 100 columns where the text allows it.
   A hole without a value is a fault of ours. */
#include "writer.h"

#include <stdbool.h>
#include <string.h>

void tlmc_writer_init(struct tlmc_writer *writer, struct tlmc_strbuf *out)
{
    *writer = (struct tlmc_writer){ .out = out };
}

void tlmc_writer_set(struct tlmc_writer *writer, const char *name, const char *text)
{
    for (unsigned i = 0; i < writer->hole_count; i++)
        if (strcmp(writer->holes[i].name, name) == 0) {
            writer->holes[i].text = text;
            return;
        }
    TLMC_CHECK(writer->hole_count < TLMC_WRITER_HOLES);
    writer->holes[writer->hole_count].name = name;
    writer->holes[writer->hole_count++].text = text;
}

/* Does the line go on behind a comma, && or, before a comment, a semicolon at this place? */
static bool is_joint(const char *line, size_t i)
{
    if (line[i + 1] != ' ')
        return false;
    return line[i] == ',' || (line[i] == '&' && i > 0 && line[i - 1] == '&') ||
           (line[i] == ';' && strncmp(line + i + 2, "/*", 2) == 0);
}

static bool is_assignment(const char *line, size_t i)
{
    return line[i] == '=' && line[i + 1] == ' ' && i > 0 && line[i - 1] == ' ';
}

/* Where a line may be broken before the limit: behind a joint outside strings and comments, of
   several the last of those inside the fewest brackets; where there is none, behind "=".  *depth:
   brackets open at the beginning, then at the break.  0: nowhere. */
static size_t break_place(const char *line, size_t length, size_t limit, int *depth)
{
    size_t place = 0, assignment = 0;
    bool quoted = false;
    int open = *depth, best = 1000;

    for (size_t i = 0; i + 1 < length && i < limit; i++) {
        if (line[i] == '\\' && quoted)
            i++;
        else if (line[i] == '"')
            quoted = !quoted;
        else if (quoted)
            continue;
        else if (line[i] == '/' && line[i + 1] == '*')
            break;
        else if (strchr("([{", line[i]))
            open++;
        else if (strchr(")]}", line[i]))
            open--;
        else if (is_assignment(line, i) && open == *depth)
            assignment = i + 1;
        else if (is_joint(line, i) && open <= best) {
            best = open;
            place = i + 1;
        }
    }
    if (place == 0)
        return assignment;
    *depth = best;
    return place;
}

static void blanks(struct tlmc_strbuf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tlmc_strbuf_char(out, ' ');
}

static void put_line(struct tlmc_writer *writer, const char *line, size_t length)
{
    size_t own = 0, column;
    int depth = 0;

    while (own < length && line[own] == ' ')
        own++;
    line += own;
    length -= own;
    column = own + 4 * (size_t)writer->indent;
    for (bool first = true; length > 0; first = false) {
        const size_t margin = column + (first ? 0 : 4);
        const size_t room = margin + 20 < TLMC_WRITER_COLUMNS ? TLMC_WRITER_COLUMNS - margin : 20;
        size_t cut = length;

        if (length > room && line[0] != '/' && line[0] != '#')
            cut = break_place(line, length, room, &depth);
        if (cut == 0)
            cut = length;
        blanks(writer->out, margin);
        tlmc_strbuf_add_n(writer->out, line, cut);
        line += cut;
        length -= cut;
        if (length > 0) { /* the blank behind the comma */
            line++;
            length--;
            tlmc_strbuf_char(writer->out, '\n');
        }
    }
}

static void end_line(struct tlmc_writer *writer)
{
    put_line(writer, tlmc_strbuf_text(&writer->line), writer->line.length);
    tlmc_strbuf_char(writer->out, '\n');
    tlmc_strbuf_clear(&writer->line);
}

void tlmc_writer_end(struct tlmc_writer *writer)
{
    if (writer->line.length > 0)
        end_line(writer);
    tlmc_strbuf_free(&writer->line);
}

static void write_piece(struct tlmc_writer *writer, const char *text, size_t length)
{
    const char *newline;

    while ((newline = memchr(text, '\n', length)) != NULL) {
        tlmc_strbuf_add_n(&writer->line, text, (size_t)(newline - text));
        end_line(writer);
        length -= (size_t)(newline - text) + 1;
        text = newline + 1;
    }
    tlmc_strbuf_add_n(&writer->line, text, length);
}

void tlmc_write_text(struct tlmc_writer *writer, const char *text)
{
    write_piece(writer, text, strlen(text));
}

static bool same_name(const char *name, const char *hole, size_t length)
{
    return strncmp(name, hole, length) == 0 && name[length] == '\0';
}

static const char *find_hole(const struct tlmc_writer *writer, const char *hole, size_t length,
                             va_list pairs)
{
    const char *name;
    va_list ap;

    va_copy(ap, pairs);
    while ((name = va_arg(ap, const char *)) != NULL) {
        const char *text = va_arg(ap, const char *);

        if (same_name(name, hole, length)) {
            va_end(ap);
            return text;
        }
    }
    va_end(ap);
    for (unsigned i = 0; i < writer->hole_count; i++)
        if (same_name(writer->holes[i].name, hole, length))
            return writer->holes[i].text;
    TLMC_BUG("no value for hole '%.*s'", (int)length, hole);
}

void tlmc_writer_template(struct tlmc_writer *writer, const char *text, ...)
{
    va_list pairs;

    va_start(pairs, text);
    while (*text) {
        const size_t n = strcspn(text, "%");

        write_piece(writer, text, n);
        text += n;
        if (*text == '\0')
            break;
        if (text[1] == '{') {
            const size_t length = strcspn(text + 2, "}");

            TLMC_CHECK(text[2 + length] == '}');
            tlmc_write_text(writer, find_hole(writer, text + 2, length, pairs));
            text += length + 3;
        } else {
            TLMC_CHECK(text[1] == '%');
            tlmc_strbuf_char(&writer->line, '%');
            text += 2;
        }
    }
    va_end(pairs);
}

/* One line of a comment, wrapped between words; `opening` stands before the first. */
static void comment_line(struct tlmc_writer *writer, const char *line, size_t length,
                         const char *opening, bool last)
{
    const size_t room = TLMC_WRITER_COLUMNS - 4 * (size_t)writer->indent - 6;

    for (bool first = true; first || length > 0; first = false) {
        size_t cut = length;

        if (length > room) {
            cut = room;
            while (cut > 0 && line[cut] != ' ')
                cut--;
            if (cut == 0)
                cut = strcspn(line, " \n") < length ? strcspn(line, " \n") : length;
        }
        blanks(writer->out, 4 * (size_t)writer->indent);
        tlmc_strbuf_add(writer->out, first ? opening : "   ");
        size_t kept = cut;

        while (kept > 0 && line[kept - 1] == ' ')
            kept--;
        for (size_t i = 0; i < kept; i++) {
            tlmc_strbuf_char(writer->out, line[i]);
            if ((line[i] == '*' && line[i + 1] == '/') || (line[i] == '/' && line[i + 1] == '*'))
                tlmc_strbuf_char(writer->out, ' ');
        }
        line += cut;
        length -= cut;
        while (length > 0 && *line == ' ') {
            line++;
            length--;
        }
        tlmc_strbuf_add(writer->out, last && length == 0 ? " */\n" : "\n");
    }
}

void tlmc_write_comment(struct tlmc_writer *writer, const char *text)
{
    const char *opening = "/* ";

    TLMC_CHECK(writer->line.length == 0);
    for (;;) {
        const size_t n = strcspn(text, "\n");

        comment_line(writer, text, n, opening, text[n] == '\0');
        if (text[n] == '\0')
            return;
        text += n + 1;
        opening = "   ";
    }
}
