#!/usr/bin/env python3
"""Parses the supervisor's golden answers with the types of the official Python SDK.

Run by an interpreter that has a2a-sdk: 1.3 checks the answers of 1.0, and those of 0.3 over JSON-RPC with its own
compatibility layer; 0.3 checks both bindings of 0.3. Unknown members are errors wherever the SDK can tell.
usage: check_golden.py [FOLDER]    exit 0: all parsed; 1: some did not; 2: no a2a-sdk here
"""
import importlib.metadata
import json
import pathlib
import sys

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "supervisor/golden/dialect")
parsed, wrong = 0, []


def attempt(name, parse, value):
    global parsed
    try:
        parse(value)
        parsed += 1
    except Exception as error:  # the SDK raises many kinds
        wrong.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")


def answers(folder):
    """(file name, body) of every answer, and ('stream', event) of every event."""
    for path in sorted((FOLDER / "answers" / folder).iterdir()):
        if path.suffix == ".sse":
            for line in path.read_text(encoding="utf-8").splitlines():
                if line.startswith("data: "):
                    yield "stream", json.loads(line.removeprefix("data: "))
        elif path.name == "refusals.json":
            for name, refusal in json.loads(path.read_text(encoding="utf-8")).items():
                yield f"refusal {name}", refusal["body"]
        else:
            yield path.stem, json.loads(path.read_text(encoding="utf-8"))


def each(folder, kinds, unwrap):
    """Hands every answer to the parser whose key begins its name."""
    for name, body in answers(folder):
        kind = next((kind for kind in kinds if name.startswith(kind)), None)
        if kind is None:
            wrong.append(f"{folder}/{name}: no parser")
        else:
            attempt(f"{folder}/{name}", kinds[kind], unwrap(kind, body))


def result(kind, body):
    """Out of the JSON-RPC envelope. A webhook is told the thing itself."""
    if kind in ("refusal", "notification"):
        return body
    assert body["jsonrpc"] == "2.0" and body["id"] == 7 and set(body) == {"jsonrpc", "id", "result"}, body
    return body["result"]


def protobuf(message):
    from google.protobuf.json_format import ParseDict

    return lambda value: ParseDict(value, message(), ignore_unknown_fields=False)


def error_of_1_0(code):
    from a2a.client.transports.rest import _parse_rest_error
    from google.protobuf import json_format
    from google.rpc import error_details_pb2

    def parse(body):
        error = body["error"]
        details = error["details"] if code == "rest" else error["data"]
        for detail in details:
            kind = detail["@type"].removeprefix("type.googleapis.com/google.rpc.")
            message = getattr(error_details_pb2, kind)()
            json_format.ParseDict({key: value for key, value in detail.items() if key != "@type"}, message)
        ours = details[0]["domain"] == "a2a-protocol.org"
        if code == "rest" and ours:
            assert _parse_rest_error(body, "") is not None, "the SDK knows no such reason"

    return parse


def sdk_1_3():
    from a2a.types import a2a_pb2 as pb

    kinds = {
        "task-": protobuf(pb.Task),
        "sent-": protobuf(pb.SendMessageResponse),
        "list": protobuf(pb.ListTasksResponse),
        "push-config": protobuf(pb.TaskPushNotificationConfig),
        "push-list": protobuf(pb.ListTaskPushNotificationConfigsResponse),
        "push-deleted": lambda value: value == {} or 1 / 0,
        "stream": protobuf(pb.StreamResponse),
        "notification": protobuf(pb.StreamResponse),
    }
    each("1.0-jsonrpc", {**kinds, "refusal": error_of_1_0("rpc")}, result)
    each("1.0-rest", {**kinds, "refusal": error_of_1_0("rest")}, lambda kind, body: body)
    from a2a.compat.v0_3 import types as old

    pydantic_0_3(old)


def pydantic_0_3(types):
    kinds = {
        "task-": types.GetTaskSuccessResponse,
        "sent-": types.SendMessageSuccessResponse,
        "push-config": types.SetTaskPushNotificationConfigSuccessResponse,
        "push-list": types.ListTaskPushNotificationConfigSuccessResponse,
        "push-deleted": types.DeleteTaskPushNotificationConfigSuccessResponse,
        "stream": types.SendStreamingMessageSuccessResponse,
        "refusal": types.JSONRPCErrorResponse,
        "notification": types.Task,
    }
    each("0.3-jsonrpc", {kind: model.model_validate for kind, model in kinds.items()}, lambda kind, body: body)


def as_base64(task):
    """0.3.26 turns the bytes of a file to text without encoding them; its types want base64, so give it that."""
    import base64

    for artifact in task.artifacts:
        for part in artifact.parts:
            if part.file.file_with_bytes:
                part.file.file_with_bytes = base64.b64encode(part.file.file_with_bytes)
    return task


def sdk_0_3():
    from a2a import types
    from a2a.grpc import a2a_pb2 as pb
    from a2a.utils import proto_utils

    pydantic_0_3(types)
    back = proto_utils.FromProto
    kinds = {
        "task-": lambda value: back.task(as_base64(protobuf(pb.Task)(value))),
        "sent-": lambda value: back.task_or_message(protobuf(pb.SendMessageResponse)(value)),
        "list": lambda value: [protobuf(pb.Task)(task) for task in value["tasks"]],
        "push-config": lambda value: back.task_push_notification_config(protobuf(pb.TaskPushNotificationConfig)(value)),
        "push-list": protobuf(pb.ListTaskPushNotificationConfigResponse),
        "push-deleted": lambda value: value == {} or 1 / 0,
        "stream": lambda value: back.stream_response(protobuf(pb.StreamResponse)(value)),
        "refusal": lambda value: value["message"] or 1 / 0,
        "notification": types.Task.model_validate,
    }
    each("0.3-rest", kinds, lambda kind, body: body)


try:
    version = importlib.metadata.version("a2a-sdk")
except importlib.metadata.PackageNotFoundError:
    print("check_golden: no a2a-sdk in this interpreter")
    sys.exit(2)
(sdk_0_3 if version.startswith("0.3.") else sdk_1_3)()
print(f"check_golden: a2a-sdk {version} parsed {parsed} answers, refused {len(wrong)}")
for line in wrong:
    print("  " + line)
sys.exit(1 if wrong else 0)
