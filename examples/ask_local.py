"""Ask a local model that uses plugins, and see who wrote which part. Give another model as the first argument."""

from __future__ import annotations

import sys

from toolkit import Assistant, load_plugins

MODEL = sys.argv[1] if len(sys.argv) > 1 else "bundled:smollm2-135m-instruct"

if __name__ == "__main__":
    assistant = Assistant(MODEL, load_plugins("science"))
    answer = assistant.ask("What is 12 * 34?")
    print(answer.said)
    for call in answer.calls:
        print(f"  {call.name}({call.arguments}) {call.outcome.status}: {call.outcome.text}")
    for piece in answer.pieces:
        print(f"  {'model' if piece.by_model else 'tool '} {piece.text!r}")
    print(f"  tokens: {len(answer.ids)}, of which the model wrote {sum(answer.source)}")
