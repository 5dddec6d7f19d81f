/* SPDX-License-Identifier: MIT */
/*
 * tls.c - TLS: libcurl speaks it with a server, OpenSSL reads what a jail says of it
 */
#include <ctype.h>
#include <string.h>

#include <curl/curl.h>
#include <openssl/ssl.h>

#include "jail/egress/proxy/proxy.h"

ssize_t tls_move(struct connection *c, bool in, void *bytes, size_t length)
{
	size_t n = 0;
	CURLcode r = in ? curl_easy_recv(c->tls, bytes, length, &n)
			: curl_easy_send(c->tls, bytes, length, &n);

	errno = r == CURLE_AGAIN ? EAGAIN : EIO;
	return r ? -1 : (ssize_t)n;
}

/* OpenSSL has a whole ClientHello. It is asked for no more than that. */
static int take_hello(SSL *ssl, int *alert, void *arg)
{
	const unsigned char *at;
	size_t length;
	char *name = arg;

	(void)alert;
	name[0] = '\0';
	/* a list of one: its length, type 0, the name's length, the name */
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &at, &length) == 1) {
		if (length < 5 || length - 5 >= PLACE_HOST_MAX || at[2] != 0 ||
		    length - 5 != (size_t)(at[3] << 8 | at[4]) ||
		    memchr(at + 5, 0, length - 5))
			return SSL_CLIENT_HELLO_ERROR;
		for (size_t i = 5; i < length; i++)
			*name++ = (char)tolower(at[i]);
		*name = '\0';
	}
	return SSL_CLIENT_HELLO_RETRY;
}

int tls_name(struct connection *c, const unsigned char *bytes, size_t length,
	     char name[PLACE_HOST_MAX])
{
	SSL_CTX *context = c->hello ? NULL : SSL_CTX_new(TLS_server_method());
	BIO *in = context ? BIO_new(BIO_s_mem()) : NULL;
	int r = -1;

	if (in && (c->hello = SSL_new(context)))
		SSL_set_bio(c->hello, in, in);
	SSL_CTX_free(context); /* the other has it */
	if (c->hello && BIO_write(SSL_get_rbio(c->hello), bytes, (int)length) >= 0) {
		SSL_CTX_set_client_hello_cb(SSL_get_SSL_CTX(c->hello), take_hello, name);
		r = SSL_get_error(c->hello, SSL_accept(c->hello));
		r = r == SSL_ERROR_WANT_CLIENT_HELLO_CB ? 1
		    : r == SSL_ERROR_WANT_READ          ? 0
							: -1;
	}
	if (r) {
		SSL_free(c->hello);
		c->hello = NULL;
	}
	return r;
}
