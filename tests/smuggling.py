"""Heads and bodies that two parsers may read differently, and ones that no parser may take.

Written from RFC 9112 (the section is named in each id) and RFC 9110. Every one is followed by a
second request on the same connection, which must not be answered."""

HOST = b"Host: a\r\n"
POST = b"POST /v1/files HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
END = b"\r\n"

REFUSED: dict[str, bytes] = {
    "2.2 lines that end in LF": b"GET /v1/models HTTP/1.1\nHost: a\n\n",
    "2.2 one line that ends in LF": b"GET /v1/models HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n",
    "2.2 a head that ends in LF": b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\n",
    "2.2 CR alone in a value": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n",
    "2.2 CR alone in the request line": b"GET /v1/models\rHTTP/1.1\r\nHost: a\r\n\r\n",
    "2.2 space before the first header": b"GET /v1/models HTTP/1.1\r\n X: 1\r\nHost: a\r\n\r\n",
    "2.3 HTTP/2.0": b"GET /v1/models HTTP/2.0\r\nHost: a\r\n\r\n",
    "2.3 HTTP/1.2": b"GET /v1/models HTTP/1.2\r\nHost: a\r\n\r\n",
    "2.3 HTTP/0.9": b"GET /v1/models\r\n",
    "2.3 http in lower case": b"GET /v1/models http/1.1\r\nHost: a\r\n\r\n",
    "2.3 a version with two digits": b"GET /v1/models HTTP/1.10\r\nHost: a\r\n\r\n",
    "3 two spaces in the request line": b"GET  /v1/models HTTP/1.1\r\nHost: a\r\n\r\n",
    "3 a tab in the request line": b"GET\t/v1/models HTTP/1.1\r\nHost: a\r\n\r\n",
    "3 no target": b"GET HTTP/1.1\r\nHost: a\r\n\r\n",
    "3 a fourth word": b"GET /v1/models HTTP/1.1 x\r\nHost: a\r\n\r\n",
    "3.1 a method that is no token": b"G(T /v1/models HTTP/1.1\r\nHost: a\r\n\r\n",
    "3.2 no host": b"GET /v1/models HTTP/1.1\r\n\r\n",
    "3.2 two hosts": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "3.2 two equal hosts": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "3.2 an empty host": b"GET /v1/models HTTP/1.1\r\nHost:\r\n\r\n",
    "3.2 a host with a path": b"GET /v1/models HTTP/1.1\r\nHost: a/x?\r\n\r\n",
    "3.2 a host with a fragment": b"GET /v1/models HTTP/1.1\r\nHost: a/#@evil\r\n\r\n",
    "3.2 a host with a user": b"GET /v1/models HTTP/1.1\r\nHost: a@evil\r\n\r\n",
    "3.2 a host with a space": b"GET /v1/models HTTP/1.1\r\nHost: a b\r\n\r\n",
    "3.2 a list of hosts": b"GET /v1/models HTTP/1.1\r\nHost: a, b:1:2\r\n\r\n",
    "3.2 a fragment in the target": b"GET /v1/models#x HTTP/1.1\r\nHost: a\r\n\r\n",
    "3.2 a target without its slash": b"GET v1/models HTTP/1.1\r\nHost: a\r\n\r\n",
    "3.2.2 a target of another host": b"GET http://evil/v1/models HTTP/1.1\r\nHost: a\r\n\r\n",
    "3.2.2 a target of another scheme": b"GET ftp://a/v1/models HTTP/1.1\r\nHost: a\r\n\r\n",
    "3.2.3 CONNECT": b"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
    "9110 9.3.8 TRACE": b"TRACE /v1/models HTTP/1.1\r\nHost: a\r\n\r\n",
    "5.1 a space before the colon": POST + b"Content-Length : 3\r\n\r\nabc",
    "5.1 a tab before the colon": CHUNKED[:-20] + b"ng\t: chunked\r\n\r\n",
    "5.1 no colon": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
    "5.1 an empty name": b"GET /v1/models HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n",
    "5.1 a name with a bracket": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX[0]: x\r\n\r\n",
    "5.1 a name beyond ASCII": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX\xe9: x\r\n\r\n",
    "5.2 a header that goes on": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n",
    "5.2 a framing header that goes on": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "5.5 NUL in a value": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
    "5.5 a control character in a value": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: \x1b\r\n\r\n",
    "5.5 DEL in a value": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n",
    "6.1 a length and chunked": CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
    "6.1 chunked and a length": POST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "6.1 two codings": CHUNKED + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "6.1 chunked twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "6.1 chunked and not the last": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "6.1 an unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "6.1 identity": POST + b"Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc",
    "6.1 a coding behind a control": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "6.1 a coding in quotes": POST + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "6.1 HTTP/1.0 and chunked": CHUNKED.replace(b"1.1", b"1.0") + b"\r\n0\r\n\r\n",
    "6.1 a coding with an underscore": POST
    + b"Content-Length: 3\r\nTransfer_Encoding: chunked\r\n\r\nabc",
    "6.2 a length with a sign": POST + b"Content-Length: +3\r\n\r\nabc",
    "6.2 a negative length": POST + b"Content-Length: -3\r\n\r\nabc",
    "6.2 a length in hexadecimal": POST + b"Content-Length: 0x3\r\n\r\nabc",
    "6.2 a length with a space": POST + b"Content-Length: 3 3\r\n\r\nabc",
    "6.2 an empty length": POST + b"Content-Length:\r\n\r\nabc",
    "6.2 a length of other digits": POST + "Content-Length: ٣\r\n\r\nabc".encode(),
    "6.3 two lengths": POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    "6.3 a list of lengths": POST + b"Content-Length: 3, 4\r\n\r\nabc",
    "7.1 a size in hexadecimal with 0x": CHUNKED + b"\r\n0x3\r\nabc\r\n0\r\n\r\n",
    "7.1 a negative size": CHUNKED + b"\r\n-1\r\nabc\r\n0\r\n\r\n",
    "7.1 no size": CHUNKED + b"\r\n\r\nabc\r\n0\r\n\r\n",
    "7.1 a size of other digits": CHUNKED + "\r\n٣\r\nabc\r\n0\r\n\r\n".encode(),
    "7.1 a size with an underscore": CHUNKED + b"\r\n1_0\r\nabc\r\n0\r\n\r\n",
    "7.1 a size that is too long": CHUNKED + b"\r\n" + b"f" * 40 + b"\r\nabc\r\n0\r\n\r\n",
    "7.1 more than the size": CHUNKED + b"\r\n3\r\nabcd\r\n0\r\n\r\n",
    "7.1 less than the size": CHUNKED + b"\r\n5\r\nabc\r\n0\r\n\r\n",
    "9110 7.6.1 Connection names a credential": b"GET /v1/models HTTP/1.1\r\nHost: a\r\n"
    b"Connection: authorization, x-toolfold-tenant\r\nAuthorization: Bearer k\r\n\r\n",
    "9110 7.6.1 Connection names one of ours": b"GET /v1/models HTTP/1.1\r\nHost: a\r\n"
    b"Connection: close, X-Toolfold-Tenant\r\n\r\n",
    "9110 7.6.1 Connection names the host": b"GET /v1/models HTTP/1.1\r\nHost: a\r\n"
    b"Connection: keep-alive\r\nConnection: host\r\n\r\n",
    "9110 10.1.1 an unknown expectation": POST + b"Expect: 200-ok\r\nContent-Length: 0\r\n\r\n",
    "9110 5.1 more than 100 headers": b"GET /v1/models HTTP/1.1\r\nHost: a\r\n"
    + b"".join(b"X-%d: 1\r\n" % number for number in range(100))
    + b"\r\n",
    "9110 5.4 a head of more than 32 KiB": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: "
    + b"x" * 32_768
    + b"\r\n\r\n",
    "9110 5.4 a target of more than 32 KiB": b"GET /v1/"
    + b"x" * 32_768
    + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a1030374") + b"\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}
SECOND = b"GET /v1/smug HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

CLOSE = b"Connection: close\r\n"
TAKEN: dict[str, bytes] = {
    "2.3 HTTP/1.0": b"GET /v1/models HTTP/1.0\r\n\r\n",
    "2.3 HTTP/1.0 with a host": b"GET /v1/models HTTP/1.0\r\nHost: a\r\n\r\n",
    "3.1 a method of one's own": b"PROPFIND /v1/models HTTP/1.1\r\nHost: a\r\n" + CLOSE + END,
    "3.2 a host with a port": b"GET /v1/models HTTP/1.1\r\nHost: a.b:80\r\n" + CLOSE + END,
    "3.2 a host that is an address": b"GET /v1/models HTTP/1.1\r\nHost: [::1]:80\r\n" + CLOSE + END,
    "3.2.2 a target of this host": b"GET http://a/v1/models HTTP/1.1\r\nHost: A\r\n" + CLOSE + END,
    "5.1 no space behind the colon": b"GET /v1/models HTTP/1.1\r\nHost:a\r\nX:1\r\n" + CLOSE + END,
    "5.5 a tab in a value": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: a\tb\r\n" + CLOSE + END,
    "5.5 an empty value": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX:\r\n" + CLOSE + END,
    "5.5 a value beyond ASCII": b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: \xe9\r\n" + CLOSE + END,
    "6.2 a length of nothing": POST + CLOSE + b"Content-Length: 0\r\n\r\n",
    "7.1 chunks": CHUNKED + CLOSE + b"\r\n3\r\nabc\r\n0\r\n\r\n",
    "7.1 sizes in either case": CHUNKED
    + CLOSE
    + b"\r\nA\r\n0123456789\r\n00a\r\n0123456789\r\n0\r\n\r\n",
    "7.1.1 a chunk's extension": CHUNKED + CLOSE + b"\r\n3;x=y\r\nabc\r\n0\r\n\r\n",
    "7.1.2 a trailer": CHUNKED + CLOSE + b"\r\n3\r\nabc\r\n0\r\nX: 1\r\n\r\n",
    "9110 10.1.1 100-continue": POST
    + CLOSE
    + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    "100 headers": b"GET /v1/models HTTP/1.1\r\nHost: a\r\n"
    + CLOSE
    + b"".join(b"X-%d: 1\r\n" % number for number in range(98))
    + b"\r\n",
}
"""What the RFC has servers take, each closed behind its one reply."""
