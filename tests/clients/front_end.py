"""A front end without a client file: it shows a question as it is to be shown, and answers it.

    python3 front_end.py CONFINE WORKSPACE FILE ANSWER
"""

import json
import subprocess
import sys

confine, workspace, file, answer = sys.argv[1:]
server = subprocess.Popen([confine, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def say(**message):
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()


def show(question):
    """Every line as it came. Nothing here is taken from `subject`, which others chose and nobody made visible."""
    print(*question["text"], sep="\n")
    print(f"(no in {question['deadline_ms'] // 1000} s)")
    offered = [choice["answer"] for choice in question["choices"]]
    return answer if answer in offered else "reject"


say(kind="hello", version=1, client="front_end.py", approvals="ask", deadline_ms=30_000)
say(kind="run/start", run="only", command=["sh", "-c", f"echo yes > {file}"], cwd=workspace)
for line in server.stdout:
    message = json.loads(line)
    if message["kind"] == "approval/request":
        say(kind="approval/answer", approval=message["approval"], answer=show(message))
    elif message["kind"] == "approval/decided":
        print("the question is closed:", message["outcome"]["kind"])
    elif message["kind"] == "run/result":
        print("it ended:", message["report"]["verdict"])
        break
server.stdin.close()
sys.exit(server.wait())
