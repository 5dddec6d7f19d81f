/* SPDX-License-Identifier: MIT */
/*
 * serve.h - a `stepjail serve` of our own: its process, its frames in and out
 *
 * What comes is bounded frames (init/wire.h); what they mean is the business of
 * session.h. The one place that waits is serve_pump(): nothing that stepjail does, or
 * does not do, holds it up beyond its deadline.
 */
#pragma once

#include "agent/base/clip.h"
#include "agent/session/broker.h"
#include "init/wire.h"

#define SERVE_GRACE_MS 2000 /* from a step's interrupt to its kill */

struct serve {
	struct stop *stop;
	struct child child;
	int socket;          /* not blocking */
	int diag_fd;         /* what stepjail says beside its frames */
	int typed_fd;        /* a terminal whose lines the step may have, or -1 */
	bool breach;         /* frames made no sense */
	struct text to_send; /* frames on their way */
	size_t sent;
	struct clip diag;
	struct wire_reader reader;
};

/* what serve_pump() saw */
enum serve_event {
	SERVE_QUIET, /* nothing that matters, or the deadline passed */
	SERVE_FRAME, /* a whole frame waits: wire_reader_take() */
	SERVE_TYPED, /* there is something to read at @typed_fd */
	SERVE_GONE,  /* stepjail has ended, or its frames made no sense */
};

/** serve_init() - Make it safe for serve_end(); nothing is started */
void serve_init(struct serve *v, struct stop *stop);

/**
 * serve_end() - End the process, and with it every jail of its own
 * @patience_ms: How long it may take to end by itself, once its stream is closed
 */
void serve_end(struct serve *v, uint64_t patience_ms);

/**
 * serve_queue() - Put a frame on its way
 * @head:	The payload's first part, one of the structs of init/serve_wire.h
 * @rest:	Its second; together at most WIRE_PAYLOAD_MAX bytes
 */
void serve_queue(struct serve *v, uint16_t type, uint32_t session, const void *head,
		 size_t head_bytes, const void *rest, size_t rest_bytes);

/** serve_waiting() - Bytes that are not sent yet */
size_t serve_waiting(const struct serve *v);

/**
 * serve_pump() - Wait for one event; send, and drain diagnostics, on the way
 *
 * Return: enum serve_event, or -EINTR where a signal came
 */
int serve_pump(struct serve *v, uint64_t deadline_ms);

/**
 * serve_failed() - Write an error about a jail that did not start
 * @why:	stepjail's answer, or NULL: then the last line of its diagnostics
 * @otherwise:	Said where there is none
 *
 * Return: -ENOTRECOVERABLE
 */
int serve_failed(const struct serve *v, const char *why, const char *otherwise,
		 struct err *e);
