/* Inside the planner room: what the report writers share.  They read a plan and change nothing. */
#ifndef TLMC_PLANNER_PLAN_REPORT_H
#define TLMC_PLANNER_PLAN_REPORT_H

#include "plan.h"
#include "strbuf.h"

/* The i-th form in the order of reports: training forms first. */
const struct tlmc_plan_form *tlmc_report_form(const struct tlmc_plan *plan, uint32_t i);
void tlmc_report_steps(const struct tlmc_plan *plan, const struct tlmc_plan_form *form,
                       const struct tlmc_report_options *options, struct tlmc_strbuf *out);
const char *tlmc_phase_name(enum tlmc_phase phase);
const char *tlmc_step_kind_name(enum tlmc_step_kind kind);
const char *tlmc_place_name(enum tlmc_place place);
/* "h", "grad of h", "%12": a value as reports call it; buf has 160 bytes. */
const char *tlmc_report_value(const struct tlmc_graph *graph, uint32_t value, char *buf);

#endif
