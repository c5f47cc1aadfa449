/* The parts of the CUDA runtime that need no CUDA, the same in both builds: guards of the uint32
   ABI, the two environment variables, the texts of the probe, the format of the telemetry.
   Refuses sizes that do not fit by a status; touches no device and keeps no state. */
#include "cuda_guard.h"

#include "tlm_program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tlm_status tlm_cuda_fail(char *error, tlm_status status, const char *format, ...)
{
    if (error) {
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(error, TLM_ERROR_BYTES, format, arguments);
        va_end(arguments);
    }
    return status;
}

/* ---- sizes */

/* The product of dims[first .. rank), each at most UINT32_MAX; false: an axis or the product does
   not fit.  An axis of 0 makes the product 0 wherever it stands. */
static bool guard_product(uint32_t rank, const uint64_t *dims, uint32_t first, uint32_t *product)
{
    uint64_t all = 1;
    bool empty = false, fits = true;

    for (uint32_t axis = first; axis < rank; axis++) {
        if (dims[axis] > UINT32_MAX)
            return false;
        empty = empty || dims[axis] == 0;
        /* both factors are below 2^32, so this does not wrap */
        all = fits ? all * dims[axis] : all;
        fits = fits && all <= UINT32_MAX;
    }
    *product = empty ? 0 : (uint32_t)all;
    return empty || fits;
}

tlm_status tlm_cuda_check_shape(uint32_t rank, const uint64_t *dims, uint32_t *count)
{
    uint32_t product;

    if (rank > TLM_MAX_RANK || (rank > 0 && !dims) || !guard_product(rank, dims, 0, &product))
        return TLM_ERR_ARGUMENT;
    if (count)
        *count = product;
    return TLM_OK;
}

tlm_status tlm_cuda_check_spatial(uint32_t rank, const uint64_t *dims, uint32_t first)
{
    uint32_t product;

    if (rank > TLM_MAX_RANK || first > rank || (rank > 0 && !dims) ||
        !guard_product(rank, dims, first, &product))
        return TLM_ERR_ARGUMENT;
    return TLM_OK;
}

/* ---- the environment */

tlm_cuda_number tlm_cuda_parse_bytes(const char *text, uint64_t *bytes)
{
    uint64_t value = 0;
    bool overflow = false;

    *bytes = 0;
    if (!*text)
        return TLM_CUDA_NUMBER_MALFORMED;
    for (; *text; text++) {
        uint64_t digit;

        if (*text < '0' || *text > '9')
            return TLM_CUDA_NUMBER_MALFORMED;
        digit = (uint64_t)(*text - '0');
        overflow = overflow || value > (UINT64_MAX - digit) / 10;
        if (!overflow)
            value = value * 10 + digit;
    }
    if (overflow)
        return TLM_CUDA_NUMBER_OVERFLOW;
    *bytes = value;
    return TLM_CUDA_NUMBER_GOOD;
}

bool tlm_cuda_parse_switch(const char *text)
{
    return text && *text && strcmp(text, "0") != 0;
}

uint64_t tlm_cuda_parse_cap(const char *text, char *warning)
{
    uint64_t bytes = 0;

    *warning = '\0';
    if (!text)
        return 0;
    switch (tlm_cuda_parse_bytes(text, &bytes)) {
    case TLM_CUDA_NUMBER_GOOD: break;
    case TLM_CUDA_NUMBER_MALFORMED:
        snprintf(warning, TLM_ERROR_BYTES,
                 "TLM_CUDA_CACHE_CAP_BYTES='%.64s' is no decimal byte count: ignored, the cache is "
                 "unbounded",
                 text);
        break;
    case TLM_CUDA_NUMBER_OVERFLOW:
        snprintf(warning, TLM_ERROR_BYTES,
                 "TLM_CUDA_CACHE_CAP_BYTES='%.64s' is more than %" PRIu64
                 ": ignored, the cache is unbounded",
                 text, UINT64_MAX);
        break;
    }
    return bytes;
}

/* ---- the probe */

#define GUARD_ASKED "CUDA was requested, but "
#define GUARD_UNUSABLE "CUDA was requested and this is a CUDA build, but "

void tlm_cuda_cause_text(tlm_cuda_cause cause, int driver, int runtime, const char *detail,
                         char *text)
{
    switch (cause) {
    case TLM_CUDA_CAUSE_NONE: snprintf(text, TLM_ERROR_BYTES, "a CUDA device can be used"); return;
    case TLM_CUDA_CAUSE_STUB_BUILD:
        snprintf(text, TLM_ERROR_BYTES,
                 GUARD_ASKED "this program is linked to tlmc's stub of the CUDA runtime; rebuild "
                             "tlmc with the CUDA toolkit (-DTLMC_CUDA=ON), then the program");
        return;
    case TLM_CUDA_CAUSE_NO_DRIVER:
        snprintf(text, TLM_ERROR_BYTES,
                 GUARD_UNUSABLE
                 "no NVIDIA driver can be loaded (libcuda.so.1 is missing or broken); "
                 "install one for CUDA %d.%d or newer",
                 runtime / 1000, runtime % 1000 / 10);
        return;
    case TLM_CUDA_CAUSE_DRIVER_TOO_OLD:
        snprintf(text, TLM_ERROR_BYTES,
                 GUARD_UNUSABLE "the NVIDIA driver is too old: it is for CUDA %d.%d, the program "
                                "for %d.%d; update the driver",
                 driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
        return;
    case TLM_CUDA_CAUSE_STUB_LIBRARY:
        snprintf(text, TLM_ERROR_BYTES,
                 GUARD_UNUSABLE "the toolkit's stub of libcuda comes before the driver's library; "
                                "take the folder 'stubs' out of LD_LIBRARY_PATH");
        return;
    case TLM_CUDA_CAUSE_NO_VISIBLE_DEVICE:
        snprintf(text, TLM_ERROR_BYTES,
                 GUARD_UNUSABLE "no usable CUDA device is visible; see whether nvidia-smi lists "
                                "one and CUDA_VISIBLE_DEVICES lets it through");
        return;
    case TLM_CUDA_CAUSE_DRIVER_FAILED:
        snprintf(text, TLM_ERROR_BYTES,
                 GUARD_UNUSABLE "the driver failed: %s; see whether nvidia-smi works",
                 detail ? detail : "no reason given");
        return;
    }
}

/* ---- telemetry */

/* "1.5MiB": thousandths, rounded, without the zeros at the end.  Integers alone, so that no locale
   changes the point. */
static void guard_mebibytes(uint64_t bytes, char *text, size_t capacity)
{
    const uint64_t mebibyte = UINT64_C(1) << 20;
    uint64_t whole = bytes / mebibyte;
    unsigned thousandths = (unsigned)((bytes % mebibyte * 1000 + mebibyte / 2) / mebibyte);
    char digits[4] = "";

    if (thousandths == 1000) {
        whole++;
        thousandths = 0;
    }
    for (int i = 2; i >= 0; i--, thousandths /= 10)
        digits[i] = (char)('0' + thousandths % 10);
    for (int i = 2; i >= 0 && digits[i] == '0'; i--)
        digits[i] = '\0';
    snprintf(text, capacity, "%" PRIu64 "%s%sMiB", whole, *digits ? "." : "", digits);
}

char *tlm_cuda_format_stats(const tlm_cuda_stats *stats, char *text)
{
    char live[32], peak[32], cache[32], cap[32], device_free[32], device_total[32];

    guard_mebibytes(stats->live_bytes, live, sizeof live);
    guard_mebibytes(stats->peak_bytes, peak, sizeof peak);
    guard_mebibytes(stats->cache_bytes, cache, sizeof cache);
    guard_mebibytes(stats->cache_cap_bytes, cap, sizeof cap);
    guard_mebibytes(stats->device_free_bytes, device_free, sizeof device_free);
    guard_mebibytes(stats->device_total_bytes, device_total, sizeof device_total);
    snprintf(text, TLM_CUDA_STATS_BYTES,
             "live=%s peak=%s cache=%s cache_cap=%s allocs=%" PRIu64 " frees=%" PRIu64
             " wrappers_live=%" PRIu64 " wrappers_peak=%" PRIu64 " wrappers_alloc=%" PRIu64
             " wrappers_finalized=%" PRIu64 " cuda_free=%s cuda_total=%s",
             live, peak, cache, cap, stats->alloc_count, stats->free_count, stats->wrappers_live,
             stats->wrappers_peak, stats->wrappers_alloc, stats->wrappers_finalized, device_free,
             device_total);
    return text;
}

void tlm_cuda_report(char *text)
{
    tlm_cuda_stats stats;
    char line[TLM_CUDA_STATS_BYTES];

    tlm_cuda_get_stats(&stats);
    snprintf(text, TLM_REPORT_BYTES, "cuda: deterministic_reductions=%s\ncuda: %s\n",
             tlm_cuda_get_deterministic_reductions() ? "on" : "off",
             tlm_cuda_format_stats(&stats, line));
}
