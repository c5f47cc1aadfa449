/* The bar of progress.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
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
    char text[128], bar[64];
    int width, filled, cells;

    if (!progress->on || now - progress->last < 0.1 || progress->total == 0 || here == 0)
        return;
    progress->last = now;
    snprintf(text, sizeof text, " %" PRIu64 "/%" PRIu64 "  loss %.6f  %.0f s left ", done,
             progress->total, loss,
             (now - progress->started) / (double)here * (double)(progress->total - done));
    width = progress_width();
    cells = width - 3 - (int)sizeof text / 2;
    cells = cells < 0 ? 0 : cells > (int)sizeof bar - 1 ? (int)sizeof bar - 1 : cells;
    filled = (int)((double)cells * (double)done / (double)progress->total);
    for (int i = 0; i < cells; i++)
        bar[i] = i < filled ? '#' : '-';
    bar[cells] = 0;
    fprintf(stderr, "\r[%s]%.*s\033[K", bar, width > cells + 3 ? width - cells - 3 : 0, text);
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
