/* SPDX-License-Identifier: MIT */
/*
 * manual.c - the manual page: see manual.h
 */
#include "jail/manual.h"
#include "jail/option.h"
#include "jail/outcome.h"

static const char head[] =
	".Dd $Mdocdate$\n"
	".Dt STEPJAIL 1\n"
	".Os\n"
	".Sh NAME\n"
	".Nm stepjail\n"
	".Nd run a program in a jail of namespaces, cgroups and seccomp\n"
	".Sh SYNOPSIS\n"
	".Nm\n"
	".Cm run\n"
	".Op options\n"
	".Op Fl Fl\n"
	".Ar program\n"
	".Op Ar args\n"
	".Nm\n"
	".Cm check\n"
	".Op Fl Fl json\n"
	".Nm\n"
	".Cm explain\n"
	".Op options\n"
	".Sh DESCRIPTION\n"
	".Cm run\n"
	"starts\n"
	".Ar program\n"
	"in new user, mount, PID, network, IPC, UTS and cgroup namespaces, on a "
	"read-only\n"
	"root tree, without capabilities, behind a seccomp allow list, Landlock rules "
	"where\n"
	"the kernel has them, and the limits of a cgroup v2 leaf.\n"
	"Standard input, output and error are passed through.\n"
	"When the program ends, every process that it left behind is killed.\n"
	".Pp\n"
	".Cm check\n"
	"prints one line for each thing that a jail needs of this host.\n"
	"It exits 0 only where\n"
	".Cm run\n"
	"works without further options.\n"
	".Pp\n"
	".Cm explain\n"
	"prints the plan that the options make, defaults included, in the form that\n"
	".Fl Fl policy\n"
	"reads.\n"
	".Pp\n"
	"Sizes take K, M, G or T (powers of 1024), times ms, s, m or h; a bare number is "
	"bytes\n"
	"or seconds.\n"
	"An option that may not be repeated is refused when it is given twice, on the "
	"command\n"
	"line, in the policy file, or in both.\n"
	"The options are:\n"
	".Bl -tag -width Ds\n";

static const char tail[] = ".El\n"
			   ".Sh POLICY FILES\n"
			   "A policy file holds options without their dashes, one per "
			   "line: the name, blanks, and\n"
			   "the value up to the end of the line.\n"
			   "Empty lines and lines that begin with # are passed over.\n"
			   "There is no quoting.\n"
			   ".Sh REPORT\n"
			   "One JSON object.\n"
			   "Its verdict is one of:\n";

static const char statuses[] =
	".Sh EXIT STATUS\n"
	".Cm run\n"
	"exits with the program's status, and otherwise:\n"
	".Bl -tag -width Ds\n"
	".It 124\n"
	"The program was killed at its wall-time.\n"
	".It 125\n"
	"stepjail itself failed; the program never ran, or the report could not be "
	"written.\n"
	".It 126\n"
	"The program is there but cannot be executed.\n"
	".It 127\n"
	"The program was not found.\n"
	".It 128+n\n"
	"Signal n ended the program, or ended stepjail and the program with it.\n"
	"A kill at a memory or CPU limit is 137.\n"
	".El\n"
	".Sh FILES\n"
	".Bl -tag -width Ds\n"
	".It Pa /run/stepjail/ids\n"
	"As root: one locked byte for each running jail's pair of host ids.\n"
	".It Pa /sys/fs/cgroup/stepjail\n"
	"As root: the leaves of running jails, unless the own cgroup is delegated.\n"
	".It Pa /usr/bin/systemd-run\n"
	"Executed where the own cgroup is not delegated, to start\n"
	".Nm\n"
	"once more in a scope that is.\n"
	".El\n"
	".Sh EXAMPLES\n"
	".Dl stepjail run --memory 256M --wall-time 2s -- /bin/python3 -c 'print(6*7)'\n"
	".Sh SEE ALSO\n"
	".Xr namespaces 7 ,\n"
	".Xr cgroups 7 ,\n"
	".Xr seccomp 2\n";

void manual_print(FILE *out)
{
	(void)fputs(head, out);
	option_print_man(out);
	(void)fputs(tail, out);
	for (size_t i = 0; i < VERDICT_COUNT; i++)
		(void)fprintf(out, "%s%s\n", verdict_names[i],
			      i + 1 < VERDICT_COUNT ? "," : ".");
	(void)fputs(statuses, out);
}
