

# --- Stepjail's: https:// where there is no ssl -------------------------------------------

if "HTTPSConnection" not in globals():
    class HTTPSConnection(HTTPConnection):
        """Connects, so that a network or name that is not there is what is told, and then says why
        it can do no more.
        """
        default_port = HTTPS_PORT

        def __init__(self, host, port=None, key_file=None, cert_file=None,
                     timeout=socket._GLOBAL_DEFAULT_TIMEOUT, source_address=None, *, context=None,
                     check_hostname=None, blocksize=8192):
            super().__init__(host, port, timeout, source_address, blocksize=blocksize)

        def connect(self):
            super().connect()
            self.close()
            import ssl  # noqa: F401  says that this tree has none, and which has
            raise OSError("https needs the module ssl, which http.client has not found")

    __all__.append("HTTPSConnection")
