/* SPDX-License-Identifier: MIT */
/*
 * proc.h - files of one process in /proc, by its pid
 */
#ifndef STEPJAIL_JAIL_PROC_H
#define STEPJAIL_JAIL_PROC_H

#include <stddef.h>
#include <sys/types.h>

/**
 * proc_read() - Read /proc/PID/@file as a string
 *
 * Return: as io_read_file_at(), or -EXDEV if /proc is not the kernel's procfs
 */
ssize_t proc_read(pid_t pid, const char *file, char *text, size_t size);

/**
 * proc_write() - Write a string into /proc/PID/@file in one write(2)
 *
 * Return: as io_write_file_at(), or -EXDEV as above
 */
int proc_write(pid_t pid, const char *file, const char *text);

#endif
