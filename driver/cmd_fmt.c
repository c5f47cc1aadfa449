/* tlmc fmt: files in house layout, to standard output, in place (-w) or as a check. */
#include "commands.h"
#include "output.h"
#include "pipeline.h"

#include "ast.h"
#include "frontend.h"
#include "strbuf.h"

#include <stdio.h>
#include <string.h>

static int format_one(struct tlmc_compilation *c, const char *path)
{
    const uint32_t file = tlmc_read_source(&c->sources, path, (struct tlmc_span){ 0 }, &c->diags);
    const struct tlmc_ast *ast =
        file ? tlmc_parse(&c->arena, &c->symbols, &c->sources, file, &c->diags) : NULL;
    struct tlmc_strbuf text = { 0 };
    int status = TLMC_EXIT_OK;

    if (!ast)
        return TLMC_EXIT_INPUT;
    tlmc_ast_print(ast, &text);
    if (tlmc_opt_given(c->options, TLMC_OPT_FMT_CHECK)) {
        const struct tlmc_source *s = tlmc_sources_get(&c->sources, file);

        if (s->length != text.length || memcmp(s->text, text.text, text.length) != 0) {
            printf("%s: not in house layout\n", path);
            status = TLMC_EXIT_INPUT;
        }
    } else if (tlmc_opt_given(c->options, TLMC_OPT_WRITE)) {
        if (!tlmc_write_file("", path, tlmc_strbuf_text(&text), text.length))
            status = TLMC_EXIT_USAGE;
    } else {
        fputs(tlmc_strbuf_text(&text), stdout);
    }
    tlmc_strbuf_free(&text);
    return status;
}

int tlmc_cmd_fmt(const struct tlmc_options *options)
{
    struct tlmc_compilation c;
    int status = TLMC_EXIT_OK;

    if (options->file_count == 0) {
        fputs("tlmc fmt: at least one file is needed\n", stderr);
        return TLMC_EXIT_USAGE;
    }
    tlmc_compilation_begin(&c, options);
    for (unsigned i = 0; i < options->file_count; i++) {
        const int one = format_one(&c, options->files[i]);

        status = one > status ? one : status;
    }
    return tlmc_compilation_end(&c, status);
}
