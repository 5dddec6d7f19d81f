#!/usr/bin/python3 -I
"""A model's server for tests: it says what it is told to say, one answer a request.

It speaks chat completions, and at a path that ends in /messages Anthropic's messages; as a
stream of events where it is asked for one. An answer is a dict:
    say="text"          a proper answer with this content; finish="stop" unless given
    thinks="text"       what it thought before, in a member or block of its own
    calls=[(name, arguments), ...]   calls beside it; arguments as they are, maybe no JSON
    usage=(asked, answered)          tokens; (100, 7) unless given, None to tell none
    cached=(read, written)           of those asked, from and into the server's cache
    stream=False        one body, though a stream was asked for
    events=bytes        this stream, and no other
    cut_at=count        hang up behind so many bytes of the stream
    stall=(count, seconds)           be silent behind so many bytes of the stream
    endless=True        keep the connection when the stream has ended
    gate=(count, event) be silent behind so many bytes of the stream until the event is set
    pace=(bytes, seconds)            so many bytes of it at a time, and a pause behind each
    drip=(bytes, times) behind the stream, send these bytes again and again; .dripped counts
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

PIECE = 9  # characters of text or arguments in one event
STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use",
         "content_filter": "refusal"}


def packed(event):
    return json.dumps(event, separators=(",", ":")).encode()


def pieces(text):
    return [text[at:at + PIECE] for at in range(0, len(text), PIECE)]


def parts(answer):
    calls = answer.get("calls", [])
    finish = answer.get("finish", "tool_calls" if calls else "stop")
    return answer.get("say", ""), calls, finish, answer.get("usage", (100, 7))


def chat_usage(answer):
    usage = parts(answer)[3]
    told = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    if "cached" in answer:
        told["prompt_tokens_details"] = {"cached_tokens": answer["cached"][0]}
    return told


def messages_usage(answer, answered):
    told = {"input_tokens": parts(answer)[3][0], "output_tokens": answered}
    if "cached" in answer:
        read, written = answer["cached"]
        told = {**told, "input_tokens": told["input_tokens"] - read - written,
                "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    return told


def chat_body(answer):
    text, calls, finish, usage = parts(answer)
    message = {"role": "assistant", "content": text}
    if "thinks" in answer:
        message["reasoning_content"] = answer["thinks"]
    if calls:
        message["tool_calls"] = [{"id": f"call_{i}", "type": "function",
                                  "function": {"name": name, "arguments": arguments}}
                                 for i, (name, arguments) in enumerate(calls)]
    body = {"choices": [{"message": message, "finish_reason": finish}]}
    if usage:
        body["usage"] = chat_usage(answer)
    return json.dumps(body).encode()


def chat_events(answer):
    text, calls, finish, usage = parts(answer)
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": p} for p in pieces(answer.get("thinks", ""))]
    deltas += [{"content": p} for p in pieces(text)]
    for i, (name, arguments) in enumerate(calls):
        deltas.append({"tool_calls": [{"index": i, "id": f"call_{i}", "type": "function",
                                       "function": {"name": name, "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": i, "function": {"arguments": p}}]}
                   for p in pieces(arguments)]
    choices = [{"index": 0, "delta": d} for d in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    events = [{"object": "chat.completion.chunk", "choices": [c]} for c in choices]
    if usage:
        events.append({"choices": [], "usage": chat_usage(answer)})
    return b"".join(b"data: %s\n\n" % packed(e) for e in events) + \
        b"data: [DONE]\n\n"


def blocks(answer):
    text, calls, _, _ = parts(answer)
    found = [{"type": "thinking", "thinking": answer["thinks"], "signature": "x"}] if "thinks" in answer else []
    found += [{"type": "text", "text": text}] if text else []
    return found + [{"type": "tool_use", "id": f"toolu_{i}", "name": name, "input": arguments}
                    for i, (name, arguments) in enumerate(calls)]


def messages_body(answer):
    _, _, finish, usage = parts(answer)
    content = blocks(answer)
    for block in content:
        if block["type"] == "tool_use":
            block["input"] = json.loads(block["input"])
    body = {"type": "message", "role": "assistant", "content": content,
            "stop_reason": STOPS[finish]}
    if usage:
        body["usage"] = messages_usage(answer, usage[1])
    return json.dumps(body).encode()


def messages_events(answer):
    _, _, finish, usage = parts(answer)
    message = {"type": "message", "role": "assistant", "content": []}
    if usage:
        message["usage"] = messages_usage(answer, 1)
    events = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for index, block in enumerate(blocks(answer)):
        field = {"tool_use": "input"}.get(block["type"], block["type"])
        kind = {"tool_use": "input_json_delta"}.get(block["type"], field + "_delta")
        empty = {**block, field: {} if field == "input" else ""}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index,
                    "delta": {"type": kind, "partial_json" if field == "input" else field: piece}}
                   for piece in pieces(block[field])]
        events.append({"type": "content_block_stop", "index": index})
    end = {"type": "message_delta", "delta": {"stop_reason": STOPS[finish]}}
    if usage:
        end["usage"] = {"output_tokens": usage[1]}
    return b"".join(b"event: %s\ndata: %s\n\n" % (e["type"].encode(), packed(e))
                    for e in events + [end, {"type": "message_stop"}])


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
            if "hang" in answer:
                server.ending.wait(answer["hang"])
            if "drop" in answer or "hang" in answer:
                self.close_connection = True
            elif "events" in answer or (("say" in answer or "calls" in answer) and
                                        answer.get("stream", b'"stream":true' in body)):
                self.give_stream(answer)
            else:
                self.give_body(answer)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def give_stream(self, answer):
        events = messages_events if self.path.endswith("/messages") else chat_events
        data = answer["events"] if "events" in answer else events(answer)
        data = data[:answer.get("cut_at", len(data))]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        stop, seconds = answer.get("stall", (0, 0))
        self.wfile.write(data[:stop])
        self.server.ending.wait(seconds)
        begun, event = answer.get("gate", (stop, None))
        self.wfile.write(data[stop:begun])
        if event:
            event.wait(60)
        step, pause = answer.get("pace", (len(data) + 1, 0))
        for at in range(begun, len(data), step):
            self.wfile.write(data[at:at + step])
            self.server.ending.wait(pause)
        piece, times = answer.get("drip", (b"", 0))
        for _ in range(times):
            self.wfile.write(piece)
            self.server.dripped += 1
            self.server.ending.wait(0.05)
        if "endless" in answer:
            self.server.ending.wait()

    def give_body(self, answer):
        status, body = answer.get("status", 200), answer.get("body")
        if "say" in answer or "calls" in answer:
            whole = messages_body if self.path.endswith("/messages") else chat_body
            body = whole(answer)
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
        self.server.dripped = 0
        self.server.lock = threading.Lock()
        self.server.ending = threading.Event()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    @property
    def requests(self):
        return self.server.requests

    def body(self, number):
        return json.loads(self.requests[number][3])

    def messages(self, number):
        return self.body(number)["messages"]

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
