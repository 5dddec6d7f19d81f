/* SPDX-License-Identifier: MIT */
/*
 * count.h - how many elements an array has
 */
#pragma once

/** COUNT() - Of an array itself, never of a pointer to one */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
