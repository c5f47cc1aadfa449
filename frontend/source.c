/* Reads a model file.  In: a path.  Out: its bytes among the sources.  Refuses what cannot be
   opened or read (a folder, no permission) and more than TLMC_MAX_SOURCE bytes, of which it never
   holds more than one too many. */
#include "ast.h"
#include "frontend.h"
#include "strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

uint32_t tlmc_read_source(struct tlmc_sources *sources, const char *path, struct tlmc_span from,
                          struct tlmc_diags *diags)
{
    struct tlmc_strbuf text = { 0 };
    FILE *file = fopen(path, "rb");
    uint32_t id = 0;
    char chunk[1 << 14];
    size_t n;

    if (!file) {
        tlmc_report(diags, TLMC_E_BAD_FILE, from, "cannot open '%s': %s", path, strerror(errno));
        return 0;
    }
    errno = 0;
    while (text.length <= TLMC_MAX_SOURCE && (n = fread(chunk, 1, sizeof chunk, file)) > 0)
        tlmc_strbuf_add_n(&text, chunk, n);
    if (ferror(file))
        tlmc_report(diags, TLMC_E_BAD_FILE, from, "cannot read '%s': %s", path, strerror(errno));
    else if (text.length > TLMC_MAX_SOURCE)
        tlmc_report(diags, TLMC_E_TOO_LARGE, from, "'%s' is larger than 16 MiB", path);
    else
        id = tlmc_sources_add(sources, path, tlmc_strbuf_text(&text), (uint32_t)text.length, false);
    fclose(file);
    tlmc_strbuf_free(&text);
    return id;
}
