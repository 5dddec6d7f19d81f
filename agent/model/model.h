/* SPDX-License-Identifier: MIT */
/*
 * model.h - what every model is to the loop
 */
#pragma once

#include "agent/key/client.h"
#include "agent/model/chat.h"

struct usage {
	uint64_t requests; /* sent, the repeated ones too */
	uint64_t retries;
	uint64_t prompt_tokens;     /* as the server tells */
	uint64_t completion_tokens; /* as the server tells */
	/* of prompt_tokens: read from a cache of the server, and written into one */
	uint64_t cached_tokens, cache_write_tokens;
	uint64_t judged; /* answers whose tokens it did not tell: judged by bytes */
};

struct model_plan {
	const char *base_url; /* NULL: the provider's */
	const char *model_name;
	const char *key_file;
	const char *header_file; /* more headers, for the model client to read; or NULL */
	const cJSON *settings;   /* more members of a request (settings.h); or NULL */
	bool require_confinement; /* of the model client, too */
	bool tools;               /* offer the tool `python`, and expect calls of it */
	bool vision;              /* the model is sent what steps show */
	uint64_t retries;
	uint64_t retry_wait_ms; /* the first wait; see retry_decide() */
	uint64_t request_ms;    /* longest silence of a server that is to answer */
	struct stop *stop;
	/* told about waits and repeats; one line without a newline */
	void (*note)(void *arg, const char *line);
	/* or NULL: the words of an answer, of thinking too, as they come, whole
	 * characters, hostile; @words NULL behind the last, and where the answer broke
	 * off */
	void (*heard)(void *arg, const char *words, size_t length);
	void *arg; /* of both */
};

/* of a scripted model (scripted.c) */
struct script {
	const char *path;
	struct text text; /* the whole file */
	struct span rest; /* from the next turn's line on */
	size_t line;      /* lines before it */
	size_t turn;      /* turns that were spoken */
};

struct model {
	const struct provider *provider;
	const struct model_plan *plan;
	struct text label;     /* the line that says who answers */
	struct client *client; /* who asks; NULL where nobody is asked */
	char *base_url;        /* of the server, without slashes at its end */
	struct script script;
	unsigned int serial; /* of ids of calls that were made up */
	struct usage usage;
	struct gauge gauge;    /* of the last answer */
	uint64_t reply_tokens; /* longest reply to ask for, 0 for the server's own */
	/* false where what was used, with failed tries, leaves nothing for another; or
	 * NULL */
	bool (*affords)(void *arg, const struct usage *usage);
	void *affords_arg;
};

/* what --model may name */
struct provider {
	const char *name;
	/* of a server; NULL where nobody is asked: what to do is in a file then */
	const struct dialect *dialect;
	const char *base_url;
	const char *key_variable; /* beside STEPJAIL_API_KEY; NULL where none is needed */
};

/**
 * model_open() - Make the model that --model names, and start its client (client.h)
 * @name:	"scripted:FILE", "openai", "anthropic", "ollama", "llamacpp", "vllm"; the
 *		model's name may follow a slash, and is not looked at
 *
 * Return: 0, or -errno with one line that says what to give
 */
int model_open(struct model *m, const char *name, const struct model_plan *plan,
	       struct err *e);

/**
 * model_ask() - Put the answer to the chat into @reply, its thinking apart (think.h)
 *
 * Return: 0, -EINTR (a signal came), -ETIMEDOUT (the deadline passed), -EMSGSIZE (the
 * chat is too long for the model), -EDQUOT (no further try can be afforded), any other
 * -errno: the model failed, @e says why
 */
int model_ask(struct model *m, const struct chat *chat, uint64_t deadline_ms,
	      struct reply *reply, struct err *e);

/** model_close() - Forget it, and end its client; safe on a zeroed struct */
void model_close(struct model *m);

/* ---- whether and when to send a failed request again (server.c and tests only) */

struct retry_facts {
	uint64_t attempt;        /* how many were sent, this one included */
	uint64_t retries;        /* how many may follow the first */
	uint64_t left_ms;        /* of the task's wall budget */
	long status;             /* of the answer; 0 where the connection failed */
	bool quota;              /* the server says that the quota is used up */
	uint64_t retry_after_ms; /* the server's wish, 0 for none */
	uint64_t random;         /* for the jitter */
	uint64_t first_wait_ms;  /* at least 1 */
};

enum retry_answer {
	RETRY_YES,
	RETRY_NEVER,    /* this kind of failure does not pass by waiting */
	RETRY_WORN_OUT, /* tried often enough */
	RETRY_NO_TIME,  /* the wait would outlast the wall budget */
};

/**
 * retry_decide() - Decide about one failure
 * @wait_ms:	Gets the wait for RETRY_YES and RETRY_NO_TIME
 *
 * Repeated are connection failures, 408, 429 and 5xx; never a used-up quota, nor any
 * other 4xx. The wait doubles from the first to at most 40 times that, of which a random
 * half to all is waited, so that clients which failed together do not come back together.
 * A Retry-After is waited out in full, with up to a tenth more.
 */
enum retry_answer retry_decide(const struct retry_facts *f, uint64_t *wait_ms);

/* ---- the two kinds of models, for model_open() and model_ask() (model.c only) */

int scripted_open(struct model *m, struct err *e);
int scripted_ask(struct model *m, const struct chat *chat, struct reply *reply,
		 struct err *e);
int server_open(struct model *m, struct err *e);
int server_ask(struct model *m, const struct chat *chat, uint64_t deadline_ms,
	       struct reply *reply, struct err *e);
