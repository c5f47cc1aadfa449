/* The bar of progress.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double tlm_seconds(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0.0;
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Columns of the terminal. */
static int progress_width(void)
{
#ifdef TIOCGWINSZ
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
#endif
    return 80;
}

void tlm_progress_start(struct tlm_progress *progress, uint64_t done, uint64_t total)
{
    *progress = (struct tlm_progress){ .on = isatty(STDERR_FILENO) == 1,
                                       .done_before = done,
                                       .total = total };
    progress->started = progress->last = tlm_seconds();
}

void tlm_progress_update(struct tlm_progress *progress, uint64_t done, double loss)
{
    const double now = progress->on ? tlm_seconds() : 0.0;
    const uint64_t here = done - progress->done_before;
    char text[128], bar[41];
    int width, room, cells, filled;

    if (!progress->on || now - progress->last < 0.1 || progress->total == 0 || here == 0)
        return;
    progress->last = now;
    snprintf(text, sizeof text, " %" PRIu64 "/%" PRIu64 "  loss %.6f  %.0f s left", done,
             progress->total, loss,
             (now - progress->started) / (double)here * (double)(progress->total - done));
    width = progress_width() - 1; /* the last column stays free: some terminals wrap there */
    room = width - 2 - (int)strlen(text);
    cells = room < 0 ? 0 : room > 40 ? 40 : room;
    filled = (int)((double)cells * (double)done / (double)progress->total);
    memset(bar, '#', (size_t)filled);
    memset(bar + filled, '-', (size_t)(cells - filled));
    bar[cells] = 0;
    fprintf(stderr, "\r[%s]%.*s\033[K", bar, width > 2 ? width - 2 : 0, text);
    fflush(stderr);
    progress->shown = true;
}

void tlm_progress_clear(struct tlm_progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}
