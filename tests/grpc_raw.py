"""Debian's grpcio, asked with bytes: grpc_raw.py ADDRESS TOKEN /package.Service/Method [CA.pem] < request > answer.json

Run by /usr/bin/python3, since the package is not in the tests' own environment. The request on standard input is one message, or
several as {"messages": [hex, ...]} with --several. The answer is {"messages": [hex, ...], "code", "message", "details": hex}.
"""

import json
import os
import sys

import grpc


def main():
    several = "--several" in sys.argv
    address, token, method, *ca = [a for a in sys.argv[1:] if a != "--several"]
    data = sys.stdin.buffer.read()
    messages = [bytes.fromhex(m) for m in json.loads(data)["messages"]] if several else [data]
    options = [("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", -1)]
    if ca:
        with open(ca[0], "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
        channel = grpc.secure_channel(address, credentials, options)
    else:
        channel = grpc.insecure_channel(address, options)
    call = channel.stream_stream(method)(iter(messages), metadata=[("authorization", f"Bearer {token}")], timeout=60)
    answer = {"messages": []}
    try:
        for message in call:
            answer["messages"].append(message.hex())
    except grpc.RpcError:
        pass
    answer["code"] = call.code().value[0]
    answer["message"] = call.details()
    trailers = dict((name, value) for name, value in call.trailing_metadata())
    answer["details"] = trailers.get("grpc-status-details-bin", b"").hex()
    print(json.dumps(answer), flush=True)


main()
# Everything is said; grpcio 1.51 sometimes waits at the interpreter's end for a thread of its own that never comes.
os._exit(0)
