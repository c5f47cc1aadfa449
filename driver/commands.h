/* The commands, one function each, in cmd_<name>.c; each returns the exit status. */
#ifndef TLMC_DRIVER_COMMANDS_H
#define TLMC_DRIVER_COMMANDS_H

#include "options.h"

#define COMMAND(letter, name, arguments, help) tlmc_command_fn tlmc_cmd_##name;
#include "commands.def"

#endif
