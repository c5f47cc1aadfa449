/* A writer of C text.  Templates are text with named holes, so that the source of an emitter looks
   like its output:

       tlmc_write(w, "TLM_RUN(m, %{step}, %{items}, %{grain});\n", "step", name, "items", items,
   "grain", grain);

   A hole is looked up in the pairs of the call, then in those of tlmc_writer_set.  "%%" is a
   percent sign.  Each line is indented by `indent` levels of four blanks; a line longer than 100
   columns is broken after a comma, && or before a comment, outside strings, and goes on four blanks
   deeper.  Text goes to `out`, which the caller owns. */
#ifndef TLMC_CODEGEN_WRITER_H
#define TLMC_CODEGEN_WRITER_H

#include "strbuf.h"

enum { TLMC_WRITER_HOLES = 16, TLMC_WRITER_COLUMNS = 100 };

struct tlmc_writer {
    struct tlmc_strbuf *out;
    int indent;
    struct {
        const char *name, *text;
    } holes[TLMC_WRITER_HOLES];
    unsigned hole_count;
    struct tlmc_strbuf line; /* not yet ended */
};

void tlmc_writer_init(struct tlmc_writer *writer, struct tlmc_strbuf *out);
/* Writes out a last unended line and frees what the writer holds. */
void tlmc_writer_end(struct tlmc_writer *writer);
/* A hole that every later template may use; set again, it changes.  The texts must outlive the
   writer. */
void tlmc_writer_set(struct tlmc_writer *writer, const char *name, const char *text);

void tlmc_writer_template(struct tlmc_writer *writer, const char *text, ...);
#define tlmc_write(writer, ...) tlmc_writer_template((writer), __VA_ARGS__, (const char *)0)

/* Text as it stands, without holes, indented and broken like the rest. */
void tlmc_write_text(struct tlmc_writer *writer, const char *text);
/* A comment of its own, wrapped between words; "\n" in the text starts a line.  What would end the
 * comment is spaced. */
void tlmc_write_comment(struct tlmc_writer *writer, const char *text);

#endif
