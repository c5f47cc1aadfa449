/* The front end in one call: text -> AST -> checked module.  In: a path, -D overrides, -I folders.
   Out: a module whose forms are forward graphs (passes not yet run).  Everything a user can do
   wrong is reported to diags; then NULL. */
#ifndef TLMC_FRONTEND_FRONTEND_H
#define TLMC_FRONTEND_FRONTEND_H

#include "module.h"

struct tlmc_frontend_options {
    const char *const *defines;  /* "name=value", NULL-terminated; or NULL */
    const char *const *includes; /* -I folders, NULL-terminated; or NULL */
};

struct tlmc_module *tlmc_frontend(struct tlmc_arena *arena, struct tlmc_symtab *symbols,
                                  struct tlmc_sources *sources, const char *path,
                                  const struct tlmc_frontend_options *options,
                                  struct tlmc_diags *diags);

/* The same for a text that is in sources already, under the path it is to be known by. */
struct tlmc_module *tlmc_frontend_source(struct tlmc_arena *arena, struct tlmc_symtab *symbols,
                                         struct tlmc_sources *sources, uint32_t source,
                                         const struct tlmc_frontend_options *options,
                                         struct tlmc_diags *diags);

/* Reads a file into sources; 0 and a diagnostic when it cannot be read or is larger than 16 MiB. */
uint32_t tlmc_read_source(struct tlmc_sources *sources, const char *path, struct tlmc_span from,
                          struct tlmc_diags *diags);

/* std, embedded: name ("nn.tlm") and text, ended by a NULL name. */
struct tlmc_std_text {
    const char *name, *text;
    size_t length; /* of the text, without its NUL */
};
extern const struct tlmc_std_text tlmc_std_texts[];

/* "param fc1.weight f32[8, 2]" a line, parameters and saved states in order of declaration. */
struct tlmc_strbuf;
void tlmc_module_keys(const struct tlmc_module *module, struct tlmc_strbuf *out);

#endif
