"""An RTSP camera with scripted responses."""

import socket

from tests.services.peers import PeerServer


class SayingCamera(PeerServer):
    """Responds to each request with the next response, and repeats the last response.

    ``{cseq}`` is replaced by the number of the request. Use the camera as a context manager.
    """

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self._answers = answers
        self.requests: list[str] = []

    def url(self, login: str = "", path: str = "/x") -> str:
        return f"rtsp://{login}127.0.0.1:{self.port}{path}"

    def talk(self, peer: socket.socket) -> None:
        answers = list(self._answers)
        with peer.makefile("rb") as requests:
            while line := requests.readline():
                request = line.decode()
                while (line := requests.readline()) not in (b"\r\n", b""):
                    request += line.decode()
                self.requests.append(request)
                fields = [x.partition(": ")[2] for x in request.split("\r\n") if "CSeq" in x]
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                peer.sendall(answer.replace("{cseq}", fields[0]).encode())
