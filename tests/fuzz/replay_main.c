/* Replays a fuzz target without a fuzzer.  In: files and folders as arguments.  Each file, and the
   empty input, goes through LLVMFuzzerTestOneInput once; a fault is a crash.  Refuses a list
   without any file: an empty corpus would pass by testing nothing. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long size = -1;
    int ok = 0;

    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0) {
        data = malloc((size_t)size + 1);
        ok = data && fread(data, 1, (size_t)size, file) == (size_t)size;
    }
    if (ok)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    else
        fprintf(stderr, "cannot read %s\n", path);
    free(data);
    if (file)
        fclose(file);
    return ok;
}

/* The number of files replayed, or -1. */
static long replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    long count = 0;

    if (!folder) {
        fprintf(stderr, "cannot open %s\n", path);
        return -1;
    }
    while (count >= 0 && (entry = readdir(folder))) {
        char name[4096];
        struct stat info;
        const int n = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);

        if (n < 0 || (size_t)n >= sizeof name || stat(name, &info) != 0)
            count = -1;
        else if (S_ISREG(info.st_mode))
            count = replay_file(name) ? count + 1 : -1;
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    static const uint8_t nothing[1];
    long total = 0;

    LLVMFuzzerTestOneInput(nothing, 0);
    for (int i = 1; i < argc; i++) {
        struct stat info;
        const int is_folder = stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode);
        const long count = is_folder ? replay_folder(argv[i]) : replay_file(argv[i]) ? 1 : -1;

        if (count < 0)
            return 1;
        total += count;
    }
    printf("%ld inputs replayed\n", total);
    return total > 0 ? 0 : 1;
}
