/* The head comment of every emitted file.  In: the accepted plan and the options of the command
   line.  Out: what the file is, the command that writes it again, who vouches for its kernels and
   what it computes.  Files and folders are named without the path to them, which changes
   no byte. */
#include "emit_c.h"

#include "hash.h"

#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static const char *file_name(const struct tlmc_emit *e, uint32_t file)
{
    return base_name(tlmc_sources_get(e->module->sources, file)->path);
}

uint64_t tlmc_emit_digest(const struct tlmc_emit *e)
{
    const struct tlmc_catalog *catalog = e->plan->catalog;
    uint64_t digest = e->module->digest;

    for (unsigned i = 0; i < catalog->user_files.count; i++) {
        const struct tlmc_source *source =
            tlmc_sources_get(e->module->sources, catalog->user_files.items[i]);

        digest = tlmc_hash(digest, source->text, source->length);
    }
    return digest;
}

/* ---- the command */

/* An option and its value, in quotes where a shell would take it for something else. */
static void put_option(struct tlmc_strbuf *out, const char *option, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./=,:+-";
    const char *quote = value[strspn(value, plain)] || !*value ? "'" : "";

    tlmc_strbuf_printf(out, " %s %s%s%s", option, quote, value, quote);
}

static void put_list(struct tlmc_strbuf *out, const char *option, const char *const *values)
{
    for (; values && *values; values++)
        put_option(out, option, base_name(*values));
}

/* Every option that changes a byte of the output. */
static void put_command(const struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    const struct tlmc_module *module = e->module;
    const struct tlmc_catalog *catalog = e->plan->catalog;

    tlmc_strbuf_printf(out, "tlmc emit %s", module->source_name);
    if (module->command && *module->command)
        tlmc_strbuf_printf(out, " %s", module->command);
    put_list(out, "-I", e->options->includes);
    put_list(out, "--no-pass", e->options->passes_off);
    if (e->form_count < module->forms.count)
        for (uint32_t f = 0; f < e->form_count; f++)
            if (e->forms[f].form->mode == TLMC_INFER)
                tlmc_strbuf_printf(out, " --entry %s", e->forms[f].form->entry);
    for (unsigned i = 0; i < catalog->user_files.count; i++)
        put_option(out, "--capsules", file_name(e, catalog->user_files.items[i]));
    tlmc_strbuf_printf(out, " --profile %s%s%s", e->plan->profile->name,
                       e->plan->deterministic ? " --deterministic" : "",
                       e->options->single_file ? " --single-file" : "");
}

/* ---- who vouches */

/* One item of a list, once. */
static void put_once(struct tlmc_strbuf *out, const char *item)
{
    const size_t n = strlen(item);

    for (const char *at = tlmc_strbuf_text(out); (at = strstr(at, item)) != NULL; at += n)
        if (at[n] == '\0' || at[n] == ',')
            return;
    tlmc_strbuf_printf(out, "%s%s", out->length ? ", " : "", item);
}

/* Capsules whose code others answer for, and providers whose capsules come from a user's files. */
static void put_trust(struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    struct tlmc_strbuf trusted = { 0 }, providers = { 0 };

    for (uint32_t f = 0; f < e->form_count; f++)
        for (uint32_t n = 0; n < e->forms[f].graph->node_count; n++) {
            const struct tlmc_capsule *capsule = e->forms[f].plan->choice[n];

            if (capsule && capsule->trust == TLMC_TRUSTED_EXTERNAL)
                put_once(&trusted, capsule->name);
            if (capsule && tlmc_capsule_is_users(capsule))
                put_once(&providers, tlmc_emit_printf(e, "%s (%s)", capsule->provider,
                                                      file_name(e, capsule->span.file)));
        }
    tlmc_strbuf_printf(out, "Profile %s on %s, assurance %s.  Trusted boundaries: %s.\n",
                       e->plan->profile->name, tlmc_device_name(e->plan->profile->device),
                       tlmc_assurance_name(&e->plan->profile->assurance),
                       trusted.length ? tlmc_strbuf_text(&trusted) : "none");
    if (providers.length)
        tlmc_strbuf_printf(out, "Providers besides tlmc's: %s.\n", tlmc_strbuf_text(&providers));
    tlmc_strbuf_free(&trusted);
    tlmc_strbuf_free(&providers);
}

/* ---- what is computed */

/* Steps are counted as `tlmc plan` counts them: those without code, too. */
static void put_counts(const struct tlmc_emit *e, struct tlmc_strbuf *out)
{
    uint32_t nodes = 0, steps = 0, with_code = 0;

    for (uint32_t f = 0; f < e->form_count; f++) {
        nodes += e->forms[f].graph->node_count;
        steps += e->forms[f].plan->step_count;
        for (uint32_t i = 0; i < e->forms[f].plan->step_count; i++)
            with_code += e->forms[f].plan->steps[i].kind != TLMC_STEP_NOTHING;
    }
    tlmc_strbuf_printf(out, "%u nodes in %u steps", nodes, steps);
    if (e->form_count > 1)
        tlmc_strbuf_printf(out, " of %u forms", e->form_count);
    tlmc_strbuf_printf(out, ", %u with code; weights %zu, state %zu, activations %zu bytes.",
                       with_code, e->plan->weights_bytes, e->state_bytes,
                       e->plan->activations_bytes);
    if (e->cuda)
        tlmc_strbuf_printf(out, "  On the host: %zu bytes of tensors that travel.", e->io_bytes);
}

void tlmc_emit_head(struct tlmc_emit *e, const char *what, struct tlmc_strbuf *out)
{
    struct tlmc_strbuf text = { 0 };
    struct tlmc_writer w;

    tlmc_strbuf_printf(&text, "%s: %s\n", e->module->name, what);
    tlmc_strbuf_printf(&text, "Written by tlmc %s from %s (FNV-1a %016llx).  Regenerate with: ",
                       e->options->version ? e->options->version : "", e->module->source_name,
                       (unsigned long long)e->digest);
    put_command(e, &text);
    tlmc_strbuf_char(&text, '\n');
    put_trust(e, &text);
    put_counts(e, &text);
    tlmc_writer_init(&w, out);
    tlmc_write_comment(&w, tlmc_strbuf_text(&text));
    tlmc_writer_end(&w);
    tlmc_strbuf_free(&text);
}
