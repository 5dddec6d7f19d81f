/* SPDX-License-Identifier: MIT */
/*
 * proc.h - files of one process in /proc, by its pid
 *
 * The folder is looked at each time: it must be a procfs's, and of the caller's own PID
 * namespace. From there no file is opened through a symlink or in another mount: what is
 * written to uid_map cannot end up in something that was mounted over it, nor a posture be
 * read from it. See openat2(2).
 */
#ifndef STEPJAIL_JAIL_PROC_H
#define STEPJAIL_JAIL_PROC_H

#include <stddef.h>
#include <sys/types.h>

/**
 * proc_open() - Open the folder /proc/PID as a path (O_PATH)
 *
 * It stays that process's: once it has ended, nothing can be opened there any more.
 *
 * Return: an fd that belongs to the caller, -EXDEV when /proc is not what
 * it must be, or -errno
 */
int proc_open(pid_t pid);

/**
 * proc_open_at() - Open something in the folder
 * @dir:	From proc_open()
 * @flags:	As open(2) has them; close-on-exec is added
 *
 * Return: an fd that belongs to the caller, -EXDEV when another mount covers it, -ELOOP
 * for a symlink, or -errno
 */
int proc_open_at(int dir, const char *file, int flags);

/**
 * proc_read_at() - Read a file of the folder as a string
 *
 * Return: length without the NUL, -EFBIG when it does not fit, or as proc_open_at()
 */
ssize_t proc_read_at(int dir, const char *file, char *text, size_t size);

/** proc_read() - The same for a single file, by the process's pid */
ssize_t proc_read(pid_t pid, const char *file, char *text, size_t size);

/**
 * proc_write() - Write a string into /proc/PID/@file in one write(2)
 *
 * Return: 0, -errno of write(2), or as proc_open_at()
 */
int proc_write(pid_t pid, const char *file, const char *text);

#endif
