/* ptx_check FILE...: reads PTX and says where its arithmetic is not that of docs/numerics.md.
   Exit 0: pure; 1: findings, one line each on stdout; 2: a file that cannot be read. */
#include "ptx.h"

#include <cstdio>
#include <string>
#include <vector>

static bool read_file(const char *path, std::string &text)
{
    FILE *const file = fopen(path, "rb");
    char part[65536];
    size_t n;

    if (file == nullptr)
        return false;
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        text.append(part, n);
    const bool good = ferror(file) == 0;
    fclose(file);
    return good;
}

int main(int argc, char **argv)
{
    uint32_t findings = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: ptx_check FILE...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        std::string text;
        if (!read_file(argv[i], text)) {
            fprintf(stderr, "ptx_check: cannot read '%s'\n", argv[i]);
            return 2;
        }
        std::vector<char> report(1 << 20);
        const uint32_t here = ptx_check(text.data(), text.size(), report.data(), report.size());
        if (here != 0)
            printf("%s: %u findings\n%s", argv[i], here, report.data());
        findings += here;
    }
    return findings == 0 ? 0 : 1;
}
