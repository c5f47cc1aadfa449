/* tlmc emit: the program as source files in a folder. */
#include "commands.h"
#include "output.h"
#include "pipeline.h"

#include <stdio.h>

int tlmc_cmd_emit(const struct tlmc_options *options)
{
    const char *folder = tlmc_opt(options, TLMC_OPT_OUTPUT);
    struct tlmc_emission emission = { 0 };
    struct tlmc_compilation c;
    int status;

    if (!folder)
        folder = ".";
    tlmc_compilation_begin(&c, options);
    status = tlmc_stage_emit(&c,
                             tlmc_opt_given(options, TLMC_OPT_SINGLE_FILE) ? TLMC_EMIT_SINGLE
                                                                           : TLMC_EMIT_FOLDER,
                             &emission);
    if (!status && !tlmc_make_folder(folder))
        status = TLMC_EXIT_USAGE;
    for (unsigned i = 0; !status && i < emission.count; i++) {
        const struct tlmc_emitted *f = &emission.files[i];

        if (!tlmc_write_file(folder, f->name, tlmc_strbuf_text(&f->text), f->text.length))
            status = TLMC_EXIT_USAGE;
        else
            printf("%s/%s\n", folder, f->name);
    }
    tlmc_emission_free(&emission);
    return tlmc_compilation_end(&c, status);
}
