# Against servers that others wrote. Not a part of `make test`: it fetches one package, of the
# version and digest in package-lock.json, into the build folder.
interop: all data $(B)/packages ## the agent's model client at aimock, which npm fetches
	tests/interop/run
.PHONY: interop
