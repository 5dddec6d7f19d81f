/* SPDX-License-Identifier: MIT */
/* true.c - the least a program can do: what is timed around it is the jail */
int main(void)
{
	return 0;
}
