/* SPDX-License-Identifier: MIT */
/*
 * files.h - how the files of --out come out of a guest: a stream of heads, each with its
 * name and its bytes behind it
 *
 * The guest's PID 1 sends it (files.c) when its command has ended, and the host's end is
 * confined (jail/vm/receive/).
 */
#pragma once

#include <stdint.h>

enum files_kind {
	FILES_FILE = 1, /* name, bytes */
	FILES_FOLDER,   /* name; what follows is in it */
	FILES_UP,       /* the folder has ended */
	FILES_END,      /* all is there */
};

struct files_head {
	uint32_t kind;
	uint32_t name; /* bytes, without a NUL */
	uint64_t bytes;
};

/** files_send() - Send what is in a folder, the end last; 0, or -1: it was broken off */
int files_send(const char *folder, int to);
