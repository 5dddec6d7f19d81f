/* SPDX-License-Identifier: MIT */
/*
 * model.h - what every model is to the loop
 */
#ifndef STEPJAIL_AGENT_MODEL_H
#define STEPJAIL_AGENT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/chat.h"
#include "agent/stop.h"
#include "agent/text.h"
#include "init/err.h"

#define MODEL_REPLY_MAX ((size_t)8 << 20)

enum finish {
	FINISH_STOP,   /* the model ended by itself */
	FINISH_LENGTH, /* cut off */
	FINISH_OTHER,  /* the server does not say */
};

struct reply {
	struct text text;
	enum finish finish;
};

struct usage {
	uint64_t requests; /* sent, the repeated ones too */
	uint64_t retries;
	uint64_t prompt_tokens;     /* as the server tells */
	uint64_t completion_tokens; /* as the server tells */
};

struct model_plan {
	const char *argument; /* behind the colon of --model, or NULL */
	const char *base_url;
	const char *model_name;
	const char *key_file;
	uint64_t retries;
	uint64_t request_ms; /* longest wait for one answer */
	struct stop *stop;
	/* told about waits and repeats; one line without a newline */
	void (*note)(void *arg, const char *line);
	void *note_arg;
};

struct model {
	const struct model_ops *ops;
	const struct model_plan *plan;
	void *state;
	struct text label;  /* the line that says who answers */
	struct text url;    /* whom it asks, empty where that is nobody */
	const void *secret; /* where it keeps the key: of secret_new(), or NULL */
	size_t secret_bytes;
	struct usage usage;
};

struct model_ops {
	const char *name;     /* before the colon of --model */
	const char *argument; /* what follows the colon; NULL where nothing may */
	/* 0 or -errno */
	int (*open)(struct model *m, struct err *e);
	/*
	 * Append the answer to the chat to @reply. 0, -EINTR (a signal came), -ETIMEDOUT
	 * (the deadline passed), any other -errno: the model failed, @e says why
	 */
	int (*ask)(struct model *m, const struct chat *chat, uint64_t deadline_ms,
		   struct reply *reply, struct err *e);
	void (*close)(struct model *m);
};

/**
 * model_open() - Make the model that --model names
 * @name:	"scripted:FILE", "openai"
 *
 * Return: 0, or -errno with one line that says what to give
 */
int model_open(struct model *m, const char *name, struct model_plan *plan, struct err *e);

/** model_ask() - See struct model_ops; counts nothing itself */
int model_ask(struct model *m, const struct chat *chat, uint64_t deadline_ms,
	      struct reply *reply, struct err *e);

/** model_close() - Forget it, key and all; safe on a zeroed struct */
void model_close(struct model *m);

extern const struct model_ops scripted_ops;
extern const struct model_ops openai_ops;

#endif
