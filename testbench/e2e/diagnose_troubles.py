# SPDX-License-Identifier: Apache-2.0
"""Captures with one planted trouble: ten connections, one of them sick, and what is to be found in it.

A connection sends a request every PERIOD nanoseconds. In a clean one each is acknowledged LATE nanoseconds later. A
trouble is a function of a Connection that writes its packets instead, and marks those that a finding must name.
"""
import random

import wire_frames as wire

PERIOD, LATE, MESSAGES = 10_000, 2_000, 40
NEAR, FAR = 1, 2  # last bytes of the two addresses
SICK_TIMEOUT = 67_108_864  # ACK timeout 14


class Connection:
    """Requests from QP `peer` at NEAR to QP `qp` at FAR, with a clock of its own."""

    def __init__(self, number, psn, same_port, sequence):
        self.qp, self.peer = 0x11 + number, 0x201 + 3 * number
        self.first = self.psn = psn
        self.ports = (50_000 + number, 50_000 + number if same_port else 60_000 + number)
        self.now = 700 * number
        self.msn = 0
        self.frames = []  # [ns, order, bytes, planted]
        self.sequence = sequence
        self.pkey = 0xffff

    def put(self, ns, frame, planted=False):
        self.frames.append([ns, next(self.sequence), frame, planted])

    def request(self, psn, *, at=0, planted=False, opcode=wire.SEND_ONLY, extension=b"", payload=bytes(64), **how):
        how = {"pkey": self.pkey, "ack": True} | how
        frame = wire.roce(NEAR, FAR, self.ports[0], opcode, self.qp, psn, extension, payload, **how)
        self.put(self.now + at, frame, planted)
        return frame

    def answer(self, psn, *, at=LATE, planted=False, syndrome=0x1f, opcode=wire.ACK, payload=b"", ecn=0):
        extension = b"" if opcode == wire.READ_MIDDLE else wire.aeth(syndrome, self.msn)
        frame = wire.roce(FAR, NEAR, self.ports[1], opcode, self.peer, psn, extension, payload, ecn=ecn)
        self.put(self.now + at, frame, planted)

    def message(self, **how):
        """One that all goes well with."""
        self.request(self.psn, **how)
        self.msn += 1
        self.answer(self.psn)
        self.next()

    def next(self, psns=1):
        self.psn = self.psn + psns & 0xffffff
        self.now += PERIOD

    def messages(self, count):
        for _ in range(count):
            self.message()

    def go_back(self, packets, planted_nak=True, nak_at=4_000):
        """The request at hand is missing at the responder; `packets` more follow, then all come again."""
        for ahead in range(1, packets + 1):
            self.request(self.psn + ahead & 0xffffff, at=ahead * 1_000)
        self.answer(self.psn, at=nak_at, syndrome=0x60, planted=planted_nak)
        self.now += 10_000
        for ahead in range(packets + 1):
            self.request(self.psn + ahead & 0xffffff, at=ahead * 1_000)
            self.msn += 1
            self.answer(self.psn + ahead & 0xffffff, at=ahead * 1_000 + LATE)
        self.next(packets + 1)


def clean(c):
    c.messages(MESSAGES)


def lost_behind_sniffer(c):
    c.messages(10)
    c.request(c.psn, planted=True)
    c.go_back(3)
    c.messages(20)


def lost_behind_twice(c):
    c.messages(5)
    c.request(c.psn, planted=True)
    c.go_back(2)
    c.messages(5)
    c.request(c.psn, planted=True)
    c.go_back(4)
    c.messages(20)


def lost_before_sniffer(c):
    c.messages(10)
    c.go_back(3)
    c.messages(20)


def lost_burst_before_sniffer(c):
    c.messages(10)
    first = c.psn
    for ahead in range(3, 6):  # 0, 1, 2 are missing
        c.request(first + ahead & 0xffffff, at=ahead * 500)
    c.answer(first, at=4_000, syndrome=0x60, planted=True)
    c.now += 10_000
    for ahead in range(6):
        c.request(first + ahead & 0xffffff, at=ahead * 500)
        c.msn += 1
        c.answer(first + ahead & 0xffffff, at=ahead * 500 + LATE)
    c.next(6)
    c.messages(20)


def lost_by_sniffer(c):
    c.messages(10)
    c.next()  # neither the request nor its ACK was captured
    c.msn += 1
    c.request(c.psn, planted=True)
    c.msn += 1
    c.answer(c.psn)
    c.next()
    c.messages(20)


def rnr(c):
    c.messages(10)
    for _ in range(5):
        c.request(c.psn)
        c.answer(c.psn, syndrome=0x20 | 14, planted=True)
        c.now += 1_000_000
    c.messages(20)


def rnr_given_up(c):
    c.messages(10)
    for _ in range(4):
        c.request(c.psn)
        c.answer(c.psn, syndrome=0x20 | 1, planted=True)
        c.now += 10_000


def access_error(c):
    for n in range(10):
        c.message(opcode=wire.WRITE_ONLY, extension=wire.reth(0x10000 + 64 * n, 0x99, 64))
    c.request(c.psn, opcode=wire.WRITE_ONLY, extension=wire.reth(0x7fff0000, 0x99, 64), planted=True)
    c.answer(c.psn, syndrome=0x62, planted=True)


def invalid_request(c):
    c.messages(10)
    extension = wire.reth(0x10004, 0x99, 0)[:12] + bytes(16)  # an address of 4 modulo 8
    c.request(c.psn, opcode=wire.COMPARE_SWAP, extension=extension, payload=b"", planted=True)
    c.answer(c.psn, syndrome=0x61, planted=True)


def remote_operational_error(c):
    c.messages(10)
    c.request(c.psn, planted=True)
    c.answer(c.psn, syndrome=0x63, planted=True)


def timeout(c):
    c.messages(10)
    c.request(c.psn, planted=True)
    c.now += SICK_TIMEOUT
    c.request(c.psn, planted=True)
    c.msn += 1
    c.answer(c.psn)
    c.next()
    c.messages(20)


def ack_lost_behind_sniffer(c):
    c.messages(10)
    c.request(c.psn)
    c.msn += 1
    c.answer(c.psn, planted=True)
    c.now += SICK_TIMEOUT
    c.request(c.psn, planted=True)
    c.answer(c.psn)
    c.next()
    c.messages(20)


def acks_lost_before_sniffer(c):
    c.messages(10)
    for ahead in range(4):
        c.request(c.psn + ahead & 0xffffff, at=ahead * 1_000)
    c.msn += 4
    c.now += SICK_TIMEOUT
    c.request(c.psn, planted=True)
    c.answer(c.psn + 3 & 0xffffff, planted=True)  # it had all four
    c.next(4)
    c.messages(20)


def long_message(c, without=None, again=False):
    """A SEND of four packets, of which the last one asks for an ACK."""
    for n, opcode in enumerate((wire.SEND_FIRST, wire.SEND_MIDDLE, wire.SEND_MIDDLE, wire.SEND_LAST)):
        if n != without:
            c.request(c.psn + n & 0xffffff, at=1_000 * n, opcode=opcode, payload=bytes(1024), ack=n == 3,
                      planted=again and n == 0)


def tail_lost(c, without):
    """The LAST is lost, nothing follows: after a timeout the responder acknowledges what is before it."""
    c.messages(5)
    long_message(c, without)
    if without is None:
        c.frames[-1][3] = True
    c.now += SICK_TIMEOUT
    long_message(c, again=True)
    c.answer(c.psn + 2 & 0xffffff, at=500, planted=True)
    c.msn += 1
    c.answer(c.psn + 3 & 0xffffff, at=3_000 + LATE)
    c.next(4)
    c.messages(20)


def tail_lost_before(c):
    tail_lost(c, 3)


def tail_lost_behind(c):
    tail_lost(c, None)


def nak_lost(c):
    """A gap, whose NAK the capture lacks, too."""
    c.messages(5)
    c.request(c.psn + 1 & 0xffffff, planted=True)
    c.request(c.psn + 2 & 0xffffff, at=1_000)
    c.now += SICK_TIMEOUT
    for ahead in range(3):
        c.request(c.psn + ahead & 0xffffff, at=ahead * 1_000)
        c.msn += 1
        c.answer(c.psn + ahead & 0xffffff, at=ahead * 1_000 + LATE)
    c.next(3)
    c.messages(20)


def repeat_lost(c):
    """The repeat of a packet that the responder had no receive for is lost before the sniffer."""
    c.messages(5)
    for ahead in range(3):
        c.request(c.psn + ahead & 0xffffff, at=ahead * 500)
    c.answer(c.psn, syndrome=0x20 | 12)
    c.now += 650_000
    for ahead in range(1, 3):
        c.request(c.psn + ahead & 0xffffff, at=ahead * 500, planted=ahead == 1)
    c.answer(c.psn, at=3_000, syndrome=0x60, planted=True)
    c.now += 10_000
    for ahead in range(3):
        c.request(c.psn + ahead & 0xffffff, at=ahead * 500)
        c.msn += 1
        c.answer(c.psn + ahead & 0xffffff, at=ahead * 500 + LATE)
    c.next(3)
    c.messages(20)


def overtaken(c):
    """The responder refuses that a packet comes late, and has it before it comes again."""
    c.messages(5)
    for ahead in range(3):
        c.request(c.psn + ahead & 0xffffff, at=ahead * 500, planted=ahead == 0)
    c.answer(c.psn, at=3_000, syndrome=0x60, planted=True)
    c.msn += 1
    c.answer(c.psn, at=3_500)
    c.now += 10_000
    for ahead in range(1, 3):
        c.request(c.psn + ahead & 0xffffff, at=ahead * 500)
        c.msn += 1
        c.answer(c.psn + ahead & 0xffffff, at=ahead * 500 + LATE)
    c.next(3)
    c.messages(20)


def refused_middle(c):
    """A WRITE whose MIDDLE is refused: what its FIRST names was never used."""
    for n in range(10):
        c.message(opcode=wire.WRITE_ONLY, extension=wire.reth(0x10000 + 64 * n, 0x99, 64))
    c.request(c.psn, opcode=wire.WRITE_FIRST, extension=wire.reth(0x7fff0000, 0x99, 4096), payload=bytes(1024))
    c.request(c.psn + 1 & 0xffffff, at=500, opcode=wire.WRITE_MIDDLE, payload=bytes(1024), planted=True)
    c.answer(c.psn + 1 & 0xffffff, syndrome=0x62, planted=True)


def one_stall(c):
    c.messages(10)
    c.request(c.psn, planted=True)
    c.msn += 1
    c.answer(c.psn, at=5_000_000, planted=True)
    c.now += 5_000_000
    c.next()
    c.messages(20)


def ack_beyond(c):
    c.messages(10)
    c.answer(c.psn + 20 & 0xffffff, planted=True)


def marked_responses(c):
    c.messages(5)
    read(c, c.psn, 4)
    c.msn += 1
    for n, opcode in enumerate((wire.READ_FIRST, wire.READ_MIDDLE, wire.READ_MIDDLE, wire.READ_LAST)):
        c.answer(c.psn + n & 0xffffff, at=LATE + 500 * n, opcode=opcode, payload=bytes(1024), ecn=3, planted=True)
    c.next(4)
    c.messages(20)


def no_answer(c):
    c.messages(10)
    for _ in range(4):
        c.request(c.psn, planted=True)
        c.now += SICK_TIMEOUT
    c.request(c.psn)


def small_path_mtu(c):
    c.messages(10)
    for _ in range(3):
        c.request(c.psn, payload=bytes(1024), planted=True)
        c.now += SICK_TIMEOUT


def read(c, psn, packets, *, planted=False):
    length = 1024 * packets
    c.request(psn, opcode=wire.READ_REQUEST, extension=wire.reth(0x20000, 0x77, length), payload=b"", planted=planted)


def read_responses(c, psn, packets, without=(), first=0):
    for n in range(first, packets):
        opcode = (wire.READ_ONLY if packets - first == 1 else wire.READ_FIRST if n == first
                  else wire.READ_LAST if n == packets - 1 else wire.READ_MIDDLE)
        if n not in without:
            c.answer(psn + n & 0xffffff, at=LATE + 500 * n, opcode=opcode, payload=bytes(1024))


def good_read(c):
    read(c, c.psn, 4)
    c.msn += 1
    read_responses(c, c.psn, 4)
    c.next(4)


def read_again_lost_before(c):
    for _ in range(4):
        good_read(c)
    read(c, c.psn, 4)
    read_responses(c, c.psn, 4, without=(1,))
    c.now += 20_000
    read(c, c.psn + 1 & 0xffffff, 3, planted=True)
    c.msn += 1
    read_responses(c, c.psn, 4, first=1)
    c.next(4)
    c.messages(20)


def whole_read_again(c, answered):
    """A READ that comes again after a timeout, with or without captured responses to it."""
    for _ in range(4):
        good_read(c)
    read(c, c.psn, 4)
    if answered:
        read_responses(c, c.psn, 4)
    c.now += SICK_TIMEOUT
    read(c, c.psn, 4, planted=True)
    c.msn += 1
    read_responses(c, c.psn, 4)
    c.next(4)
    c.messages(20)


def read_again_lost_behind(c):
    whole_read_again(c, answered=True)


def read_unanswered(c):
    whole_read_again(c, answered=False)


def psn_used_again(c):
    for _ in range(4):
        good_read(c)
    read(c, c.psn, 4)
    c.msn += 1
    read_responses(c, c.psn, 4)
    c.request(c.psn + 1 & 0xffffff, at=8_000, planted=True)  # a SEND with the PSN of a response
    c.next(4)
    c.messages(20)


def marked(c):
    c.messages(5)
    for n in range(10):
        c.message(ecn=3, planted=True)
        if n % 3 == 2:
            frame = wire.roce(FAR, NEAR, c.ports[1], wire.CNP, c.peer, 0, payload=bytes(16))
            c.put(c.now - 5_000, frame, planted=True)
    c.messages(20)


def slowed_down(c):
    c.messages(5)
    for _ in range(3):
        c.put(c.now + 5_000, wire.roce(FAR, NEAR, c.ports[1], wire.CNP, c.peer, 0, payload=bytes(16)), planted=True)
        c.message()
    c.messages(20)


def slow_receiver(c):
    for n in range(MESSAGES):
        c.request(c.psn, planted=n == 0)
        c.msn += 1
        c.answer(c.psn, at=200_000)
        c.next()
        c.now += 300_000


def wrong_icrc(c):
    c.messages(10)
    frame = bytearray(c.request(c.psn))
    frame[-1] ^= 0x10
    c.frames[-1][2:] = [bytes(frame), True]
    c.go_back(3)
    c.messages(20)


def other_pkey(c):
    c.pkey = 0x8003
    for _ in range(3):
        c.request(c.psn, planted=not c.frames)
        c.now += SICK_TIMEOUT


def message_without_last(c):
    c.messages(10)
    c.request(c.psn, opcode=wire.SEND_FIRST, payload=bytes(1024))
    c.request(c.psn + 1 & 0xffffff, at=1_000, planted=True)
    c.answer(c.psn + 1 & 0xffffff, at=4_000, syndrome=0x61)


def two_mtus(c):
    for size in (1024, 1024, 512):
        c.request(c.psn, opcode=wire.SEND_FIRST, payload=bytes(size), planted=size == 512)
        c.request(c.psn + 1 & 0xffffff, at=1_000, opcode=wire.SEND_LAST)
        c.msn += 1
        c.answer(c.psn + 1 & 0xffffff, at=4_000)
        c.next(2)


def management(c, mad, at=0, back=False, planted=True):
    ends = (FAR, NEAR) if back else (NEAR, FAR)
    c.put(c.now + at, wire.roce(*ends, 49_999, wire.UD_SEND_ONLY, 1, 0, wire.deth(wire.GSI_QKEY, 1), mad), planted)


def connection_refused(c):
    management(c, wire.cm_request(c.qp, c.qp, c.psn, 0x1060000), planted=False)
    management(c, wire.cm_reject(c.qp, 8), at=5_000, back=True)


def connection_unanswered(c):
    for n in range(3):
        management(c, wire.cm_request(c.qp, c.qp, c.psn, 0x1060000), at=n * 4_000_000)


def keep_alive(c):
    for n in range(5):
        c.message(opcode=wire.WRITE_ONLY, extension=wire.reth(0, 0, 0), payload=b"", planted=n in (0, 4))
        c.now += 1_000_000


def uc_loss(c):
    for n in range(MESSAGES):
        if n != 20:
            c.request(c.psn, opcode=wire.UC_SEND_ONLY, planted=n == 21)
        c.next()


def other_qkey(c):
    for n in range(MESSAGES):
        source = 0x301 if n % 4 else c.peer
        qkey = 0x11111111 if n % 4 else 0x22222222
        ends = (3, FAR) if n % 4 else (NEAR, FAR)
        c.put(c.now, wire.roce(*ends, c.ports[0], wire.UD_SEND_ONLY, c.qp, n, wire.deth(qkey, source), bytes(64)),
              planted=n == 0)
        c.now += PERIOD


def no_credits(c):
    for n in range(20):
        c.request(c.psn)
        c.msn += 1
        c.answer(c.psn, syndrome=0 if n % 4 == 3 else 2, planted=n % 4 == 3)
        c.next()


def unreadable(c):
    c.messages(10)
    c.request(c.psn, opcode=0x18, extension=bytes(28), payload=b"", planted=True)
    c.answer(c.psn, syndrome=0x61)


# name: trouble, cause, weight, words that must be said
TROUBLES = {
    "lost_behind_sniffer": (lost_behind_sniffer, "lost_behind_sniffer", "costs_time", "NAK 0x60"),
    "lost_behind_twice": (lost_behind_twice, "lost_behind_sniffer", "costs_time", "1 more of the kind"),
    "lost_before_sniffer": (lost_before_sniffer, "lost_before_sniffer", "costs_time", "never came to the sniffer"),
    "lost_burst": (lost_burst_before_sniffer, "lost_before_sniffer", "costs_time", "PSNs"),
    "lost_by_sniffer": (lost_by_sniffer, "lost_by_sniffer", "hint", "only in the capture"),
    "rnr": (rnr, "rnr", "costs_time", "5 RNR NAKs (timer 14: 1.28 ms)"),
    "rnr_given_up": (rnr_given_up, "rnr", "fatal", "gave up"),
    "access_error": (access_error, "remote_access_error", "fatal", "address 0x7fff0000, rkey 0x99"),
    "invalid_request": (invalid_request, "invalid_request", "fatal", "not aligned"),
    "remote_operational_error": (remote_operational_error, "remote_operational_error", "fatal", "NAK 0x63"),
    "timeout": (timeout, "ack_timeout", "costs_time", "ACK timeout 14"),
    "ack_lost_behind": (ack_lost_behind_sniffer, "ack_lost", "costs_time", "acknowledged it before"),
    "acks_lost_before": (acks_lost_before_sniffer, "ack_lost", "costs_time", "had all of them"),
    "tail_lost_before": (tail_lost_before, "lost_before_sniffer", "costs_time", "a timeout of 67.1"),
    "tail_lost_behind": (tail_lost_behind, "lost_behind_sniffer", "costs_time", "a timeout of 67.1"),
    "nak_lost": (nak_lost, "lost_before_sniffer", "costs_time", "without a NAK in the capture"),
    "repeat_lost": (repeat_lost, "lost_before_sniffer", "costs_time", "this copy is missing"),
    "overtaken": (overtaken, "overtaken", "costs_time", "nothing was lost"),
    "refused_middle": (refused_middle, "remote_access_error", "fatal", "used 0x10000 to 0x10280 before;"),
    "one_stall": (one_stall, "slow_receiver", "costs_time", "5.00 ms later"),
    "ack_beyond": (ack_beyond, "ack_beyond", "hint", "lacks requests"),
    "marked_responses": (marked_responses, "congestion", "costs_time", "4 CE marks from"),
    "no_answer": (no_answer, "no_answer", "fatal", "5 times"),
    "small_path_mtu": (small_path_mtu, "no_answer", "fatal", "more than 64 bytes"),
    "read_lost_before": (read_again_lost_before, "read_again", "costs_time", "lost before the sniffer"),
    "read_lost_behind": (read_again_lost_behind, "read_again", "costs_time", "lost behind the sniffer"),
    "read_unanswered": (read_unanswered, "read_again", "costs_time", "no response"),
    "psn_used_again": (psn_used_again, "psn_reused", "costs_time", "response to the READ"),
    "marked": (marked, "congestion", "costs_time", "10 CE marks"),
    "slowed_down": (slowed_down, "congestion", "costs_time", "3 CNPs"),
    "slow_receiver": (slow_receiver, "slow_receiver", "costs_time", "200.00 us"),
    "wrong_icrc": (wrong_icrc, "icrc", "costs_time", "ICRC wrong"),
    "other_pkey": (other_pkey, "pkey", "fatal", "0x8003"),
    "message_without_last": (message_without_last, "opcode_sequence", "costs_time", "before the LAST"),
    "two_mtus": (two_mtus, "mtu", "costs_time", "512 bytes"),
    "connection_refused": (connection_refused, "connection_refused", "fatal", "reason 8"),
    "connection_unanswered": (connection_unanswered, "connection_unanswered", "fatal", "3 times"),
    "keep_alive": (keep_alive, "keep_alive", "hint", "all 5 requests"),
    "uc_loss": (uc_loss, "uc_loss", "costs_time", "UC does not tell"),
    "other_qkey": (other_qkey, "qkey", "costs_time", "0x22222222"),
    "no_credits": (no_credits, "no_credits", "hint", "credit count 0"),
    "unreadable": (unreadable, "unreadable", "costs_time", "unknown opcode 0x18"),
}


def capture(trouble, seed, connections=10):
    """(frames, sick connection, planted packets): frames as write_pcap() takes them."""
    draw = random.Random(seed)
    same_port = draw.random() < 0.5
    sick = draw.randrange(connections)
    sequence = iter(range(10**9))
    all_frames = []
    for number in range(connections):
        psn = draw.choice((draw.randrange(1 << 24), 0xffffff - draw.randrange(30), 0x7fffff - draw.randrange(30)))
        c = Connection(number, psn, same_port, sequence)
        (trouble if number == sick else clean)(c)
        all_frames += c.frames
        if number == sick:
            victim = c
    all_frames.sort(key=lambda f: (f[0], f[1]))
    planted = [n for n, frame in enumerate(all_frames, 1) if frame[3]]
    return [(frame[0], frame[2]) for frame in all_frames], victim, planted
