/* SPDX-License-Identifier: MIT */
/*
 * close_others.h - close all fds of a process but a few
 */
#pragma once

#include <stddef.h>

/**
 * close_others() - Close all fds from 3 on
 * @keep:	But these, in any order; one below 3 is passed over. See close_range(2)
 * @also:	One more that stays; or -1
 *
 * Return: 0, or -errno
 */
int close_others(const int *keep, size_t count, int also);
