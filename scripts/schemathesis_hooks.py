"""How schemathesis writes bodies of media types that it does not know: lines of JSON, packed or not."""
import gzip
import json

import schemathesis


def lines(value):
    items = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


@schemathesis.serializer("application/x-ndjson")
def ndjson(ctx, value):
    return value if isinstance(value, bytes) else lines(value)


@schemathesis.serializer("application/gzip")
def packed(ctx, value):
    return value if isinstance(value, bytes) else gzip.compress(lines(value))
