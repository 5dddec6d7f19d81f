# What is made of the programs' own words for those who use them: manual pages of sections 5 and 7.
PAGES := stepjail-policy.5 stepjail-protocol.7
$(PAGES:%=$(B)/%): $(B)/stepjail-%: jail/mkpages jail/policy.mdoc jail/protocol.mdoc $(B)/stepjail $(B)/stepjail.1 $(wildcard init/*.h)
	@echo "  GEN  $@"; jail/mkpages $(B) < jail/$(basename $*).mdoc > $@
all: $(PAGES:%=$(B)/%)
install: install.words
install.words: $(PAGES:%=$(B)/%)
	install -d $(DESTDIR)$(PREFIX)/share/man/man{5,7}
	for p in $(PAGES); do install -m 644 $(B)/$$p $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$$p || exit; done
uninstall: uninstall.words
uninstall.words:
	for p in $(PAGES); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$$p; done
.PHONY: install.words uninstall.words
