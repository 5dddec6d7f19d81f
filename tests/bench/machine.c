/* SPDX-License-Identifier: MIT */
/*
 * machine.c - what the machine has left, and what a tree of processes has used
 */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/machine.h"

#define PROCESSES_MAX 65536

struct process {
	pid_t pid, parent;
	uint64_t ticks;
	bool below;
};

static bool read_text(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, size - 1, file) : 0;

	if (file)
		(void)fclose(file);
	text[n] = '\0';
	return n > 0;
}

uint64_t machine_available_bytes(void)
{
	char text[4096];
	const char *at;

	if (!read_text("/proc/meminfo", text, sizeof(text)) ||
	    !(at = strstr(text, "\nMemAvailable:")))
		abort();
	return strtoull(at + sizeof("\nMemAvailable:"), NULL, 10) * 1024;
}

static bool read_process(const char *name, struct process *p)
{
	char path[64], text[1024];
	uint64_t user, system;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
	if (!read_text(path, text, sizeof(text)))
		return false;

	const char *at = strrchr(text, ')');

	p->pid = (pid_t)strtol(name, NULL, 10);
	if (!at ||
	    sscanf(at + 1,
		   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
		   &p->parent, &user, &system) != 3)
		return false;
	p->ticks = user + system;
	return true;
}

uint64_t machine_descendant_ticks(pid_t root)
{
	static struct process list[PROCESSES_MAX];
	DIR *proc = opendir("/proc");
	uint64_t ticks = 0;
	size_t n = 0;

	for (struct dirent *d; proc && n < PROCESSES_MAX && (d = readdir(proc));) {
		list[n] = (struct process){ 0 };
		if (isdigit((unsigned char)d->d_name[0]) &&
		    read_process(d->d_name, &list[n])) {
			list[n].below = list[n].pid == root;
			n++;
		}
	}
	if (proc)
		(void)closedir(proc);
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; !list[i].below && k < n; k++)
				if (list[k].below && list[k].pid == list[i].parent)
					list[i].below = more = true;
	}
	for (size_t i = 0; i < n; i++)
		ticks += list[i].below ? list[i].ticks : 0;
	return ticks;
}
