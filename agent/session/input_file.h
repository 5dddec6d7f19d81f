/* SPDX-License-Identifier: MIT */
/*
 * input_file.h - a file or folder of the user's, given by --file, looked at before any
 * jail has it
 */
#ifndef STEPJAIL_AGENT_INPUT_FILE_H
#define STEPJAIL_AGENT_INPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "init/err.h"

#define INPUT_FOLDER "/work/in"
#define INPUT_STREAMS "/work" /* where what came by a pipe is */
#define INPUT_FILE_NAME_BYTES 256
#define INPUT_FILE_HEAD_BYTES 4096 /* of a file that are looked at */

struct input_file {
	const char *path;                 /* as given */
	char name[INPUT_FILE_NAME_BYTES]; /* its last part: as in the jail */
	bool stream; /* put into INPUT_STREAMS, and not mounted in INPUT_FOLDER */
	bool folder; /* of files; @size_bytes is how many are in it */
	uint64_t size_bytes;
	bool binary; /* no text in its head */
	bool whole;  /* the head is all of it */
	size_t head_length;
	char head[INPUT_FILE_HEAD_BYTES];
};

/**
 * input_file_look() - Look at a file the user gave
 * @path:	Must be a regular file, or a folder, that can be read
 * @f:		Filled; points into @path
 *
 * Return: 0, or -errno with a line that names the file
 */
int input_file_look(const char *path, struct input_file *f, struct err *e);

/**
 * input_file_look_at() - Look at what came by a pipe
 * @fd:		Its bytes, at their beginning; is there again afterwards
 * @f:		Its path and name are filled in, the rest is
 *
 * Return: 0 or -errno
 */
int input_file_look_at(int fd, struct input_file *f, struct err *e);

#endif
