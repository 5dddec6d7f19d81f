/* SPDX-License-Identifier: MIT */
/*
 * take.h - a command whose plan says --wall vm becomes stepjail-vm
 */
#pragma once

#include "init/err.h"

struct plan;

/**
 * vm_take() - Become stepjail-vm if a plan says --wall vm
 * @command:	run, serve or check
 * @p:		The plan, checked
 * @words:	What goes along behind it, NULL for nothing
 *
 * The plan goes along as text, in the form that explain prints, by an fd whose number is
 * in the command line.
 *
 * Return: 0, where the plan is for no guest; or -errno: it does not return from a start
 */
int vm_take(const char *command, const struct plan *p, char *const *words, struct err *e);

/** command_vm() - The subcommand vm, which is stepjail-vm's; as in command.h */
int command_vm(char *const *argv, struct err *e);
