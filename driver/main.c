/* tlmc: the command.  In: argv.  Out: an exit status (0 accepted, 1 input rejected, 2 usage, 3 plan
   not accepted). */
#include "commands.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct tlmc_options options;
    int status;

    if (tlmc_options_parse(&options, argc, argv, &status)) {
        status = options.run(&options);
        if (fflush(stdout) != 0 || ferror(stdout)) {
            fputs("tlmc: cannot write to standard output\n", stderr);
            status = status ? status : 2;
        }
    }
    tlmc_options_free(&options);
    return status;
}
