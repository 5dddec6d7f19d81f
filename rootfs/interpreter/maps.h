/* SPDX-License-Identifier: MIT */
/*
 * maps.h - modules of a template in fewer mappings
 */
#pragma once

/**
 * maps_join() - Make two mappings of each module's file, where the loader made five
 *
 * fork(2) copies every mapping, and a template of the tree data has those of 290 files. A
 * file's constants become executable with its code, and what the loader wrote to stays
 * writable: nothing is both. A step could do as much. The program's own mappings stay as
 * they are, and so does what fails.
 */
void maps_join(void);
