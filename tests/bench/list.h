/* SPDX-License-Identifier: MIT */
/*
 * list.h - who runs in a race, in which order, and what is said of the times
 */
#pragma once

#include <stddef.h>

#define LIST_MAX 16
#define LIST_WORDS_MAX 64

struct contender {
	char *name;
	char *argv[LIST_WORDS_MAX +
		   1]; /* none: whoever reads the list knows what it does */
	double *ms;    /* one for each round */
	int failed;    /* wait status of a failure */
};

/** list_now_ms() - CLOCK_MONOTONIC */
double list_now_ms(void);

/**
 * list_read() - Contenders from stdin: a line each, its name, a tab, and its words, tab
 * by tab; @room for further ones is left, and theirs is the memory of times, too
 *
 * Return: how many
 */
size_t list_read(struct contender list[LIST_MAX], size_t room, size_t rounds);

/** list_shuffle() - Put into an order drawn anew; the same draws in every run */
void list_shuffle(size_t *order, size_t n);

/** list_sort() - From the shortest time to the longest */
void list_sort(double *ms, size_t n);

/** list_median() - Of sorted times */
double list_median(const double *sorted, size_t n);

/** list_p99() - Of sorted times: the one that 99 of 100 do not exceed */
double list_p99(const double *sorted, size_t n);
