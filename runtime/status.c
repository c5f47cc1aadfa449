/* Names of the status values and the one function through which the runtime library reports a
   failure. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *tlm_status_text(tlm_status status)
{
    switch (status) {
#define STATUS_TEXT_CASE(name, value, text) \
    case name: return text;
        TLM_STATUS_LIST(STATUS_TEXT_CASE)
#undef STATUS_TEXT_CASE
    }
    return "unknown status";
}

tlm_status tlm_fail(char *error, tlm_status status, const char *format, ...)
{
    if (error) {
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(error, TLM_ERROR_BYTES, format, arguments);
        va_end(arguments);
    }
    return status;
}

const char *tlm_path_tail(const char *path)
{
    const size_t shown = 120;
    const size_t length = strlen(path);

    return length > shown ? path + length - shown : path;
}

int tlm_exit_code(tlm_status status)
{
    switch (status) {
    case TLM_OK: return 0;
    case TLM_ERR_IO:
    case TLM_ERR_INDEX:
    case TLM_ERR_FORMAT:
    case TLM_ERR_MISMATCH:
    case TLM_ERR_UNINITIALISED: return 1;
    case TLM_ERR_DEVICE: return 3;
    case TLM_ERR_ARGUMENT:
    case TLM_ERR_ABI:
    case TLM_ERR_MEMORY:
    case TLM_ERR_ARITHMETIC:
    case TLM_ERR_CPU:
    case TLM_ERR_STATE: return 2;
    }
    return 2;
}
