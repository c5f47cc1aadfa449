/* JSON lines: see log.h. */
#include "log.h"

#include "status.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

tlm_status tlm_log_open(struct tlm_log *log, const char *path, int append, char *error)
{
    log->path = path;
    log->file = path ? fopen(path, append ? "a" : "w") : NULL;
    if (path && !log->file)
        return tlm_fail(error, TLM_ERR_IO, "%s: cannot be written: %s", tlm_path_tail(path),
                        strerror(errno));
    return TLM_OK;
}

tlm_status tlm_log_close(struct tlm_log *log, char *error)
{
    FILE *const file = log->file;

    log->file = NULL;
    if (file && fclose(file) != 0)
        return tlm_fail(error, TLM_ERR_IO, "%s: could not be written: %s", tlm_path_tail(log->path),
                        strerror(errno));
    return TLM_OK;
}

static void log_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(file, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

void tlm_log_begin(struct tlm_log *log, const char *event)
{
    if (!log->file)
        return;
    fputs("{\"event\":", log->file);
    log_string(log->file, event);
}

static void log_name(struct tlm_log *log, const char *name)
{
    fputc(',', log->file);
    log_string(log->file, name);
    fputc(':', log->file);
}

void tlm_log_number(struct tlm_log *log, const char *name, double value)
{
    if (!log->file)
        return;
    log_name(log, name);
    if (isfinite(value))
        fprintf(log->file, "%.17g", value);
    else
        fputs(isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"", log->file);
}

void tlm_log_integer(struct tlm_log *log, const char *name, uint64_t value)
{
    if (!log->file)
        return;
    log_name(log, name);
    fprintf(log->file, "%" PRIu64, value);
}

void tlm_log_text(struct tlm_log *log, const char *name, const char *value)
{
    if (!log->file)
        return;
    log_name(log, name);
    log_string(log->file, value);
}

tlm_status tlm_log_end(struct tlm_log *log, char *error)
{
    if (!log->file)
        return TLM_OK;
    fputs("}\n", log->file);
    if (fflush(log->file) != 0 || ferror(log->file))
        return tlm_fail(error, TLM_ERR_IO, "%s: could not be written: %s", tlm_path_tail(log->path),
                        strerror(errno));
    return TLM_OK;
}
