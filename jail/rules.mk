# What is made of the programs' own words for those who use them: manual pages of sections 5 and 7,
# and completion for bash and zsh.
PAGES := stepjail-policy.5 stepjail-protocol.7
COMPLETED := stepjail $(patsubst %,stepjail-%,agent batch mcp oci report transcripts)
$(PAGES:%=$(B)/%): $(B)/stepjail-%: jail/mkpages jail/policy.mdoc jail/protocol.mdoc $(B)/stepjail $(B)/stepjail.1 $(wildcard init/*.h)
	@echo "  GEN  $@"; jail/mkpages $(B) < jail/$(basename $*).mdoc > $@
$(B)/completion/key: jail/mkcompletion jail/completion.bash jail/oci/main.c $(COMPLETED:%=$(B)/%) $(B)/stepjail-escape $(B)/gen/syscall_names.h
	@echo "  GEN  $(@D)"; jail/mkcompletion $(B) && touch $@
all: $(PAGES:%=$(B)/%) $(B)/completion/key
install: install.words
SHARE = $(DESTDIR)$(PREFIX)/share
install.words: $(PAGES:%=$(B)/%) $(B)/completion/key
	install -d $(SHARE)/man/man{5,7} $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions
	for p in $(PAGES); do install -m 644 $(B)/$$p $(SHARE)/man/man$${p##*.}/$$p || exit; done
	install -m 644 $(COMPLETED:%=$(B)/completion/bash/%) $(SHARE)/bash-completion/completions
	install -m 644 $(COMPLETED:%=$(B)/completion/zsh/_%) $(SHARE)/zsh/site-functions
uninstall: uninstall.words
uninstall.words:
	for p in $(PAGES); do rm -f $(SHARE)/man/man$${p##*.}/$$p; done
	rm -f $(COMPLETED:%=$(SHARE)/bash-completion/completions/%) $(COMPLETED:%=$(SHARE)/zsh/site-functions/_%)
.PHONY: install.words uninstall.words
