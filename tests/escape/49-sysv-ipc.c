/* memory and queues that outlive the program: System V and POSIX IPC | seccomp | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

int main(void)
{
	int shm = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	door("shared memory", shm);
	(void)shmctl(shm, IPC_RMID, NULL);

	int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);

	door("messages", queue);
	(void)msgctl(queue, IPC_RMID, NULL);

	int sem = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);

	door("semaphores", sem);
	(void)semctl(sem, 0, IPC_RMID);
	door("POSIX queue",
	     syscall(SYS_mq_open, "stepjail-escape", O_CREAT | O_RDWR, 0600, NULL));
	(void)syscall(SYS_mq_unlink, "stepjail-escape");
	return attack_end();
}
