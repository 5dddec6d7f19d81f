# the whole is long, about forty minutes on two cores; what differs, or changes, is seen twice
cpython: all rootfs $(B)/packages.test ## CPython's own tests in a jail: what differs, and why
	tests/cpython/run
	tests/cpython/compare --modules | xargs -r tests/cpython/run --times 2
	tests/cpython/compare --table tests/cpython/README.md
pysubset.built: all rootfs $(B)/packages.test
RUN.pysubset := tests/cpython/run --quick && \
	tests/cpython/compare --quick --modules | xargs -r tests/cpython/run --quick --again && \
	tests/cpython/compare --quick
pysubset: pysubset.built ## a few quick modules of these
	$(RUN.pysubset)
.PHONY: cpython pysubset
