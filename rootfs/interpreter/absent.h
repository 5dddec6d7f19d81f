/* SPDX-License-Identifier: MIT */
/*
 * absent.h - programs and modules that the tree does not have
 */
#pragma once

/**
 * absent_install() - Once Python has started: the last finder of sys.meta_path
 *
 * It is asked for what nobody else has found, and asks rootfs/python/lacking.py, which is
 * imported then.
 *
 * Return: 0, or -1 with an exception set
 */
int absent_install(void);
