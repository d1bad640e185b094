"""An RTSP camera with scripted responses."""

import socket
import threading
from typing import Self


class SayingCamera:
    """Responds to each request with the next response, and repeats the last response.

    ``{cseq}`` is replaced by the number of the request. Use the camera as a context manager.
    """

    def __init__(self, *answers: str) -> None:
        self._answers = answers
        self._server = socket.create_server(("127.0.0.1", 0))
        self.requests: list[str] = []

    def url(self, login: str = "", path: str = "/x") -> str:
        return f"rtsp://{login}127.0.0.1:{self.port}{path}"

    @property
    def port(self) -> int:
        return int(self._server.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer: socket.socket) -> None:
        answers = list(self._answers)
        with peer, peer.makefile("rb") as requests:
            try:
                while line := requests.readline():
                    request = line.decode()
                    while (line := requests.readline()) not in (b"\r\n", b""):
                        request += line.decode()
                    self.requests.append(request)
                    fields = [x.partition(": ")[2] for x in request.split("\r\n") if "CSeq" in x]
                    answer = answers.pop(0) if len(answers) > 1 else answers[0]
                    peer.sendall(answer.replace("{cseq}", fields[0]).encode())
            except OSError:
                pass
