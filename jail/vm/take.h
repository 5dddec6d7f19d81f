/* SPDX-License-Identifier: MIT */
/*
 * take.h - a command whose plan says --wall vm becomes stepjail-vm
 */
#pragma once

#include "init/err.h"

/**
 * vm_take() - Become stepjail-vm if options, files of defaults or policy say --wall vm
 * @command:	run, serve or check; another one is none for a guest
 * @argv:	The words behind it
 *
 * The plan goes along as text, in the form that explain prints, by an fd whose number is
 * in the command line.
 *
 * Return: 0, where this process goes on: without a guest, or since the command has to say
 * what is wrong; or -errno, for options that are wrong as well, so that no command goes
 * on without a guest where they could not be read
 */
int vm_take(const char *command, char *const *argv, struct err *e);

/** command_vm() - The subcommand vm, which is stepjail-vm's; as in command.h */
int command_vm(char *const *argv, struct err *e);
