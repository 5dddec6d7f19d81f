/* SPDX-License-Identifier: MIT */
/*
 * ipc.c - System V objects and POSIX message queues: make them, look for them, remove
 * them
 *
 * usage: ipc make KEY WORD	memory, semaphores and a queue of this key, a queue named
 *				by it
 *	  ipc look KEY		what is there of that key, and how many objects at all
 *	  ipc remove KEY
 *
 * A line for each kind: its name, and what it holds, or the errno that it came to. KEY is
 * a number that is neither 0 nor 1; all may be used by everybody.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#define WORD_MAX 64
#define SEMAPHORE 42

struct letter {
	long type;
	char word[WORD_MAX];
};

union semun {
	int value;
	struct seminfo *info;
};

static void say(const char *kind, int r, const char *held)
{
	printf("%s %s\n", kind, r < 0 ? strerrorname_np(errno) : held);
}

static void memory(key_t key, int flags, const char *word)
{
	int id = shmget(key, 4096, flags);
	char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

	if (at != (char *)-1 && word)
		strncpy(at, word, WORD_MAX - 1);
	say("shm", at == (char *)-1 ? -1 : 0, at);
}

static void semaphores(key_t key, int flags, const char *word)
{
	int id = semget(key, 1, flags);
	int r = id < 0 ? -1
		: word ? semctl(id, 0, SETVAL, (union semun){ .value = SEMAPHORE })
		       : semctl(id, 0, GETVAL);
	char held[16];

	(void)snprintf(held, sizeof(held), "%d", word ? SEMAPHORE : r);
	say("sem", r, held);
}

/* what is looked at is put back */
static void letters(key_t key, int flags, const char *word)
{
	struct letter l = { .type = 1 };
	int id = msgget(key, flags);
	int r = id;

	if (word)
		strncpy(l.word, word, WORD_MAX - 1);
	else if (r >= 0)
		r = (int)msgrcv(id, &l, sizeof(l.word), 0, IPC_NOWAIT);
	if (r >= 0)
		r = msgsnd(id, &l, sizeof(l.word), IPC_NOWAIT);
	say("msg", r, l.word);
}

static void named(key_t key, int flags, const char *word)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = WORD_MAX };
	char name[32], held[WORD_MAX] = "";
	mqd_t q;
	int r;

	(void)snprintf(name, sizeof(name), "/stepjail-test-%d", key);
	q = mq_open(name, O_RDWR | O_NONBLOCK | flags, 0666, &attr);
	r = q < 0 ? -1 : 0;
	if (word)
		strncpy(held, word, WORD_MAX - 1);
	else if (r == 0)
		r = (int)mq_receive(q, held, sizeof(held), NULL);
	if (r >= 0)
		r = mq_send(q, held, sizeof(held), 0);
	say("mq", r, held);
}

/* of the whole namespace */
static void count(void)
{
	struct shm_info shm = { 0 };
	struct seminfo sem = { 0 };
	struct msginfo msg = { 0 };
	int failed = shmctl(0, SHM_INFO, (struct shmid_ds *)&shm) < 0 ||
		     semctl(0, 0, SEM_INFO, (union semun){ .info = &sem }) < 0 ||
		     msgctl(0, MSG_INFO, (struct msqid_ds *)&msg) < 0;
	char text[64];

	(void)snprintf(text, sizeof(text), "%d %d %d", shm.used_ids, sem.semusz,
		       msg.msgpool);
	say("objects", failed ? -1 : 0, text);
}

static void remove_all(key_t key)
{
	char name[32];

	(void)shmctl(shmget(key, 0, 0), IPC_RMID, NULL);
	(void)semctl(semget(key, 0, 0), 0, IPC_RMID);
	(void)msgctl(msgget(key, 0), IPC_RMID, NULL);
	(void)snprintf(name, sizeof(name), "/stepjail-test-%d", key);
	(void)mq_unlink(name);
}

int main(int argc, char **argv)
{
	key_t key = argc > 2 ? (key_t)strtol(argv[2], NULL, 10) : 0;
	const char *word = argc > 3 ? argv[3] : NULL;
	int flags = word ? 0666 | IPC_CREAT | IPC_EXCL : 0;

	if (key <= 1)
		return 2;
	if (strcmp(argv[1], "remove") == 0) {
		remove_all(key);
		return 0;
	}
	memory(key, flags, word);
	semaphores(key, flags, word);
	letters(key, flags, word);
	named(key, word ? O_CREAT | O_EXCL : 0, word);
	count();
	return 0;
}
