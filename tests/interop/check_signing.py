#!/usr/bin/env python3
"""Cards signed here are verified by the official Python SDK, and the other way round.

Run by an interpreter that has a2a-sdk 1.3 with all extras.
usage: check_signing.py MUSEGATE    exit 0: both agree; 1: they do not
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from a2a.types import AgentCard
from a2a.utils.signing import SignatureVerificationError, create_agent_card_signer, create_signature_verifier
from google.protobuf import json_format
from jwt import PyJWK

MUSEGATE = sys.argv[1]
URL = "http://127.0.0.1:8181/"
INTERFACE = {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
CARD = {
    "name": "Müse \"quoted\" \u2028 \U0001f600",
    "description": "",
    "version": "1",
    "supportedInterfaces": [INTERFACE],
    "capabilities": {"streaming": True, "pushNotifications": False},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": [],
    "skills": [{"id": "ask", "name": "Ask", "description": "Asks.", "tags": ["a", "b"], "examples": []}],
}
# What people really serve has members of two versions of the protocol in one card.
HYBRID = CARD | {"url": URL, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0"}
checks = wrong = 0


def check(name, holds):
    global checks, wrong
    checks += 1
    wrong += not holds
    print(f"{'ok   ' if holds else 'WRONG'}  {name}")


def musegate(*args, text=None):
    return subprocess.run([MUSEGATE, "card", *map(str, args)], input=text, capture_output=True, text=True, timeout=60)


def sdk(card):
    return json_format.ParseDict(card, AgentCard(), ignore_unknown_fields=True)


def verifies(card, keys, algorithm):
    by_kid = {key["kid"]: PyJWK(key) for key in keys["keys"]}
    try:
        create_signature_verifier(lambda kid, jku: by_kid[kid], [algorithm])(card)
        return True
    except SignatureVerificationError:
        return False



with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for algorithm, name in [("es256", "ES256"), ("eddsa", "EdDSA")]:
        key = folder / f"{algorithm}.jwk"
        made = musegate("key", "--algorithm", algorithm, key)
        keys = json.loads(made.stdout)
        public = folder / f"{algorithm}.public"
        public.write_text(made.stdout)
        for kind, card in [("1.0", CARD), ("hybrid", HYBRID)]:
            signed = musegate("sign", "--key", key, "-", text=json.dumps(card))
            check(f"{name} {kind}: signed here", signed.returncode == 0)
            theirs = sdk(json.loads(signed.stdout))
            check(f"{name} {kind}: the SDK verifies it", verifies(theirs, keys, name))
            theirs.name = "somebody else"
            check(f"{name} {kind}: the SDK refuses it when it was altered", not verifies(theirs, keys, name))

        private = PyJWK(json.loads(key.read_text()))
        sign = create_agent_card_signer(private, {"kid": keys["keys"][0]["kid"], "alg": name, "typ": "JOSE", "jku": None})
        theirs = json_format.MessageToDict(sign(sdk(CARD)))
        ours = musegate("verify", "--key", public, "-", text=json.dumps(theirs))
        check(f"{name}: what the SDK signed is verified here", ours.returncode == 0)
        altered = musegate("verify", "--key", public, "-", text=json.dumps(theirs | {"version": "2"}))
        check(f"{name}: and refused when it was altered", altered.returncode == 1)

print(f"{checks} checks, {wrong} wrong")
sys.exit(bool(wrong))
