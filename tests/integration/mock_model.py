#!/usr/bin/python3 -I
"""A chat completions server for tests: it says what it is told to say, one answer a request.

An answer is a dict:
    say="text"          a proper answer with this content; finish="stop" unless given
    status=429          any status; with body=bytes, or error={...}, and headers={...}
    hang=seconds        accept, then stay silent
    cut=bytes           promise more than these bytes, then hang up
    flood=count         a body of so many bytes
    drop=True           hang up at once
The last answer is repeated for ever. By hand: mock_model.py PORT TEXT...
"""

import http.server
import json
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with server.lock:
            answer = server.answers[min(len(server.requests), len(server.answers) - 1)]
            server.requests.append((time.monotonic(), self.path, dict(self.headers), body))
        try:
            self.give(answer)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def give(self, answer):
        if "hang" in answer:
            self.server.ending.wait(answer["hang"])
        if "drop" in answer or "hang" in answer:
            self.close_connection = True
            return
        status, body = answer.get("status", 200), answer.get("body")
        if "say" in answer:
            message = {"role": "assistant", "content": answer["say"]}
            choice = {"message": message, "finish_reason": answer.get("finish", "stop")}
            usage = {"prompt_tokens": 100, "completion_tokens": 7}
            body = json.dumps({"choices": [choice], "usage": usage}).encode()
        elif "error" in answer:
            body = json.dumps({"error": answer["error"]}).encode()
        elif "flood" in answer:
            body = b" " * answer["flood"]
        elif "cut" in answer:
            body = answer["cut"]
            self.close_connection = True
        body = body or b""
        self.send_response(status)
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        extra = 1000 if "cut" in answer else 0
        self.send_header("Content-Length", str(len(body) + extra))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that hangs up is what some tests are about


class MockModel:
    """with MockModel([answers]) as model: model.url, model.requests"""

    def __init__(self, answers, port=0):
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.answers = answers
        self.server.requests = []
        self.server.lock = threading.Lock()
        self.server.ending = threading.Event()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    @property
    def requests(self):
        return self.server.requests

    def messages(self, number):
        return json.loads(self.requests[number][3])["messages"]

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.ending.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


if __name__ == "__main__":
    with MockModel([{"say": text} for text in sys.argv[2:]], int(sys.argv[1])) as mock:
        print(mock.url, flush=True)
        mock.thread.join()
