/* SPDX-License-Identifier: MIT */
/*
 * count.h - how many elements an array has
 */
#ifndef STEPJAIL_INIT_COUNT_H
#define STEPJAIL_INIT_COUNT_H

/** COUNT() - Of an array itself, never of a pointer to one */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
