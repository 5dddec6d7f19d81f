/* SPDX-License-Identifier: MIT */
/*
 * test_agent_client.h - what the tests of both sides of the model client share
 */
#pragma once

#include "agent/key/client.h"

/** post_words() - client_post() of a few bytes, with a minute's time and no stream */
int post_words(struct client *c, struct client_answer *a, struct err *e);
